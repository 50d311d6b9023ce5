import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Fact, Permanent, reprieve } from '../../src/index.ts'
import { describeOwnBroker, type OwnBroker, ownBroker } from '../rabbitmq/own-broker.ts'
import { until } from '../until.ts'

/** What the broker takes, in bytes: the event fits, its letter does not. */
const LIMIT = 20_000
const DATA = { text: 'x'.repeat(LIMIT - 100) }

describeOwnBroker('an event whose letter is larger than RabbitMQ takes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprieve-large-'))
  let own: OwnBroker
  beforeAll(async () => {
    own = await ownBroker([`max_message_size = ${LIMIT}`])
  })
  afterAll(async () => {
    await own?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('dies once, beside others that go on; the office has it whole, and it has its second chance', async () => {
    const facts: Fact[] = []
    await using app = await reprieve({
      transport: own.url,
      store: `sqlite:${join(folder, 'app.db')}`,
      journal: (fact) => facts.push(fact),
    })
    const ran: string[] = []
    let works = false
    app.service('shop').on('order.placed', ({ id, data }) => {
      ran.push(id)
      if ('text' in (data as object) && !works) throw new Permanent('no such order')
    })
    await app.start()
    await app.publish('order.placed', DATA, { id: 'large' })
    for (let n = 0; n < 20; n++) {
      const publish = () => app.publish('order.placed', { n }, { id: `small-${n}` })
      await publish().catch(publish) // the channel of all falls once, for that is how the limit is told
    }
    const kept = await until('its letter', async () => (await app.office.list({}, 9))[0])
    await until('the others', () => facts.filter(({ is }) => is === 'done').length === 20)
    expect(ran.filter((id) => id === 'large')).toHaveLength(1)
    const told = facts.find((fact) => fact.is === 'trouble' && fact.about?.event === 'large')
    expect(String(told && 'error' in told && told.error)).toMatch(/no such order/)
    const whole = await app.office.show(kept.letter.id)
    expect(whole?.letter.event).toMatchObject({ id: 'large', data: Buffer.from(JSON.stringify(DATA)) })
    works = true
    await app.office.replay({ ids: [kept.letter.id] }, { as: 'ann' })
    await until('its second chance', () => facts.some((fact) => fact.is === 'done' && fact.event === 'large'))
    expect(ran.filter((id) => id === 'large')).toHaveLength(2)
  })
})
