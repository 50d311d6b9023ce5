import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { connect } from 'amqplib'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { Permanent, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/tools.ts'
import { describeWith } from '../services/urls.ts'
import { until } from '../until.ts'
import { cli, folderWith, startCli } from './child.ts'

const MINUTE = 60_000

describe('the office on its own', () => {
  it.for(['memory', 'sqlite'])('takes over what piled up in an hour without it, on %s', async (kind) => {
    const tools = testTools()
    const { clock } = tools
    const transport = kind === 'memory' ? `memory:${randomUUID()}` : `sqlite:${join(folderWith(), 'app.db')}`
    const rules = readRules('version: 1\nservices: { mail-svc: { policy: { attempts: 1 } } }', 'r.yaml', {})
    const services = await clock.runUntil(reprieve({ ...tools, transport, rules, office: false }))
    services.service('mail-svc').on('task.created', () => {
      throw new Permanent('no such box')
    })
    await clock.runUntil(services.start())
    for (let minute = 0; minute < 60; minute++) {
      const five = Array.from({ length: 5 }, (_, n) => services.publish('task.created', { minute, n }))
      await clock.runUntil(Promise.all(five))
      await clock.advance(MINUTE)
    }
    expect(await clock.runUntil(services.office.count({}))).toBe(0)

    const office = await clock.runUntil(reprieve({ ...tools, transport, rules }))
    await clock.runUntil(office.serve())
    await clock.advance(MINUTE)
    const { open, lastHour, hourBefore, oldest } = await clock.runUntil(office.office.stats())
    // an hour is twelve slots of five minutes, the newest of which has one minute so far
    expect({ open, lastHour, hourBefore }).toEqual({ open: 300, lastHour: 275, hourBefore: 25 })
    expect(clock.now() - oldest!).toBeGreaterThan(55 * MINUTE)
    const kept = tools.facts.flatMap((fact) => (fact.is === 'letter kept' ? [fact.letter] : []))
    expect(new Set(kept).size).toBe(300)
    expect(kept).toHaveLength(300)

    // a service that nobody knew of when the office began
    const late = await clock.runUntil(reprieve({ ...tools, transport, office: false }))
    late.service('late-svc').on('task.moved', () => {
      throw new Permanent('nowhere')
    })
    await clock.runUntil(late.start())
    await clock.runUntil(late.publish('task.moved', {}))
    await clock.advance(MINUTE)
    expect(await clock.runUntil(office.office.count({ service: 'late-svc' }))).toBe(1)
    expect((await clock.runUntil(office.watch.history())).snapshots).not.toHaveLength(0)
    await clock.runUntil(Promise.all([services.close(), late.close(), office.close()]))
  })

  it('runs until a signal, and says what it takes over', async () => {
    const cwd = folderWith()
    const url = `sqlite:${join(cwd, 'reprieve.db')}`
    const serving = startCli(['serve', '--jsonl'], { cwd })
    const app = await reprieve({ transport: url, office: false })
    app.service('mail-svc').on('task.created', () => {
      throw new Permanent('no such box')
    })
    await app.start()
    await app.publish('task.created', { n: 1 })
    await serving.said('"letter kept"')
    serving.signal('SIGTERM')
    expect(await serving.ended).toMatchObject({ code: 0 })
    expect(await app.office.count({})).toBe(1)
    await app.close()
    expect((await cli(['dlq', 'alerts'], { cwd })).stdout).toBe('no alert\n')
    const history = await cli(['dlq', 'stats', '--history'], { cwd })
    expect(history.stdout).toMatch(/^no snapshot yet/)
  })
})

describeWith('amqp', 'two offices on one store, beside RabbitMQ', (url) => {
  it('share the work; when one is killed nothing is lost and nothing double', async () => {
    const cwd = folderWith()
    const file = join(cwd, 'store.db')
    const service = `serve-${randomUUID().slice(0, 8)}`
    const type = `${service}.asked`
    const flags = ['--transport', url, '--store', `sqlite:${file}`, '--jsonl']
    const events = 1500
    const app = await reprieve({ transport: url, store: `sqlite:${file}`, office: false })
    app.service(service).on(type, () => {
      throw new Permanent('no such box')
    })
    await app.start()
    const destinations = app.destinations().map(({ name }) => name)
    const offices = [startCli(['serve', ...flags], { cwd }), startCli(['serve', ...flags], { cwd })]
    const event = (n: number) => ({
      ...{ id: `${service}-${n}`, source: 'test', type, datacontenttype: 'application/json' },
      ...{ extensions: {}, headers: {}, data: Buffer.from(JSON.stringify({ n })) },
    })
    for (let n = 0; n < events; n += 100)
      await app.publishEvents(Array.from({ length: 100 }, (_, i) => event(n + i)))
    await until('the first hundred', () => keptIn(file) >= 100)
    offices[0]!.signal('SIGKILL')
    await offices[0]!.ended
    await until('all of them', () => keptIn(file) >= events)
    // whatever is still on its way would come now
    await systemClock.sleep(500)
    const { total, open } = await app.office.stats()
    expect({ total, open, rows: keptIn(file) }).toEqual({ total: events, open: events, rows: events })
    const died = (await app.store.letters.groups.deaths()).filter((each) => each.service === service)
    expect(died).toMatchObject([{ letters: events, retries: 0 }])
    offices[1]!.signal('SIGTERM')
    const ended = await offices[1]!.ended
    expect(ended).toMatchObject({ code: 0 })
    const told = (text: string) => (text.match(/"letter kept"/g) ?? []).length
    // what the dead one had not acknowledged came again, and was known: at most a batch or two is told twice
    expect(told(offices[0]!.soFar()) + told(ended.stdout)).toBeGreaterThanOrEqual(events - 200)
    await app.close()
    const model = await connect(url)
    const channel = await model.createChannel()
    for (const queue of [`${service}.${type}`, ...destinations]) await channel.deleteQueue(queue)
    await model.close()
  })
})

const keptIn = (file: string): number => {
  if (!existsSync(file)) return 0
  const store = new DatabaseSync(file, { readOnly: true })
  try {
    return Number(store.prepare('SELECT count(*) AS n FROM reprieve_letter').get()!.n)
  } catch {
    return 0 // locked for a moment
  } finally {
    store.close()
  }
}
