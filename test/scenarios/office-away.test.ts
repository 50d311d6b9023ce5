import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Fact, Permanent, reprieve } from '../../src/index.ts'
import { sweep } from '../rabbitmq/sweep.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'
import { folderWith } from './child.ts'

const MINUTE = 60_000
const EACH = 30

const away = (transport: string, sweepUp: (service: string) => Promise<void>): void => {
  it('what piled up on the broker in an hour without it is taken over, each letter once', async () => {
    const folder = folderWith()
    const store = `sqlite:${join(folder, 'store.db')}`
    const service = `away-${randomUUID().slice(0, 8)}`
    const ids: string[] = []
    // services that live in another hour, and end before the office begins
    for (const ago of [100, 40]) {
      const facts: Fact[] = []
      const clock = { ...systemClock, now: () => systemClock.now() - ago * MINUTE }
      const journal = (fact: Fact) => void facts.push(fact)
      const app = await reprieve({ transport, store, clock, journal, office: false })
      app.service(service).on(`${service}.made`, () => {
        throw new Permanent('no such box')
      })
      await app.start()
      const some = Array.from({ length: EACH }, (_, n) => `${ago}-${n}`)
      await Promise.all(some.map((id) => app.publish(`${service}.made`, {}, { id })))
      await until('all of them dead', () => facts.filter(({ is }) => is === 'dead').length === EACH)
      expect(await app.office.count({})).toBe(0)
      await app.close()
      ids.push(...some)
    }

    const kept: string[] = []
    const office = await reprieve({
      transport,
      store,
      journal: (fact) => void (fact.is === 'letter kept' && kept.push(fact.letter)),
    })
    await office.serve()
    await until('all letters', async () => (await office.office.count({})) === ids.length)
    const letters = await office.office.list({}, 100)
    expect(letters.map(({ letter }) => letter.event.id).sort()).toEqual(ids.sort())
    expect(await office.office.stats()).toMatchObject({ open: 2 * EACH, lastHour: EACH, hourBefore: EACH })
    const [group] = await office.office.groups()
    expect(group).toMatchObject({ open: 2 * EACH, growth: 0 })
    expect(await office.store.letters!.groups.deaths()).toMatchObject([{ letters: 2 * EACH }])
    await office.close()
    expect(new Set(kept)).toEqual(new Set(letters.map(({ letter }) => letter.id)))

    // it was acknowledged: whoever comes after finds nothing
    const next = await reprieve({ transport, store, office: false })
    const destinations = await next.knownDestinations()
    expect(await next.office.catchUp(destinations, new AbortController().signal)).toBe(0)
    await next.close()
    await sweepUp(service)
  })
}

describeWith('amqp', 'the office away for an hour, beside RabbitMQ', (url) => {
  away(url, (service) => sweep(url, service, `${service}.made`))
})

describeWith('kafka', 'the office away for an hour, beside Kafka', (url) => {
  away(kafkaUrl(url), async () => undefined)
})
