import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { type Fact, Permanent, type Reprieve, reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-transports-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
const open = async (transport: string, journal: (fact: Fact) => void = () => {}) => {
  const name = `s${process.pid}-${Date.now()}-${count++}`
  const book = readRules(
    `version: 1
policies: { quick: { backoff: exponential, initial: 100ms, multiplier: 2, max: 1s, jitter: half, retries: 3, window: 1m } }
dependencies: { crm: { breaker: { failures: 3, open: 200ms } } }
defaults: { policy: quick, dependencies: [crm], concurrency: 3, window: 6 }`,
    'test.yaml',
  )
  const app = await reprieve({
    rules: book,
    transport,
    store: `sqlite:${join(folder, `${name}.db`)}`,
    journal,
  })
  return { app, name, type: `${name}.happened` }
}

const letterOf = (app: Reprieve, service: string, state: 'open' | 'resolved' | 'dead again') =>
  until(
    `a letter of ${service} that is ${state}`,
    async () => (await app.office.list({ service, states: [state] }, 1))[0],
  )

/** The same promises, whatever carries the events. */
const promises = (transport: () => string) => {
  it('retries until it succeeds, with the attempts counted', async () => {
    const { app, name, type } = await open(transport())
    const attempts: number[] = []
    app.service(name).on(type, (_, ctx) => {
      attempts.push(ctx.attempt)
      if (ctx.attempt < 3) throw new Transient('not yet')
    })
    await app.start()
    await app.publish(type, { n: 1 })
    await until('three attempts', () => attempts.length >= 3)
    expect(attempts).toEqual([1, 2, 3])
    await app.close()
  })

  it('waits out an outage: a failing dependency is only probed, and the outage buries nothing', async () => {
    const facts: Fact[] = []
    const { app, name, type } = await open(transport(), (fact) => facts.push(fact))
    let up = false
    let calls = 0
    app.service(name).on(type, async (_, ctx) => {
      await ctx.call('crm', () => {
        calls++
        if (!up) throw new Transient('crm is down')
      })
    })
    await app.start()
    const probes = () => facts.filter((fact) => fact.is === 'breaker' && fact.to === 'half-open').length
    await app.publishEvents(
      Array.from({ length: 60 }, (_, n) => ({
        id: `${name}-${n}`,
        source: 'test',
        type,
        extensions: {},
        headers: {},
        data: null,
      })),
    )
    await until('four probes', () => probes() >= 4)
    // three that opened it, the others that were under way then, and the probes
    expect(calls).toBeLessThanOrEqual(3 + 2 + probes())
    up = true
    await until('all sixty', () => facts.filter(({ is }) => is === 'done').length === 60)
    expect(facts.filter(({ is }) => is === 'dead')).toEqual([])
    await app.close()
  })

  it('buries what is hopeless, replays it to the service that failed and not to its neighbour, and hears how it ended', async () => {
    const facts: Fact[] = []
    const { app, name, type } = await open(transport(), (fact) => facts.push(fact))
    let mended = false
    const seen: Record<string, string>[] = []
    let neighbour = 0
    app.service(name).on(type, (event) => {
      seen.push(event.headers)
      if (!mended) throw new Permanent('the address is unknown')
    })
    app.service(`${name}-neighbour`).on(type, () => void neighbour++)
    await app.start()
    const id = await app.publish(type, { n: 1 }, { correlationId: 'c-1', headers: { 'x-tenant': 'a' } })
    const { letter } = await letterOf(app, name, 'open')
    expect(letter).toMatchObject({
      destination: `_${name}.deadletter`,
      topic: type,
      reason: 'permanent',
      event: { id, extensions: { correlationid: 'c-1' } },
    })
    expect(Buffer.from(letter.event.data!).toString()).toBe('{"n":1}')

    expect((await app.office.replay({ service: name })).sent).toEqual([letter.id])
    const again = await letterOf(app, name, 'open')
    expect(again.letter.trail.replay?.letter).toBe(letter.id)
    // the new letter is kept before the old one is told
    expect((await letterOf(app, name, 'dead again')).letter.id).toBe(letter.id)

    mended = true
    await app.office.replay({ ids: [again.letter.id] })
    await letterOf(app, name, 'resolved')
    expect(seen.at(-1)).toMatchObject({
      'x-tenant': 'a',
      'x-replayed': 'true',
      'x-original-id': id,
      'x-idempotency-key': id,
      'x-replay-attempt': '2',
    })
    expect(seen).toHaveLength(3)
    expect(neighbour).toBe(1)
    expect(await app.office.count({ service: name, states: ['open', 'replaying'] })).toBe(0)
    await app.close()
  })

  it('runs an event once although it was published twice', async () => {
    const facts: Fact[] = []
    const { app, name, type } = await open(transport(), (fact) => facts.push(fact))
    let calls = 0
    app.service(name).on(type, () => void calls++)
    await app.start()
    await app.publish(type, { n: 1 }, { id: `${name}-same` })
    await until('the first', () => calls === 1)
    await app.publish(type, { n: 1 }, { id: `${name}-same` })
    await until('the duplicate', () => facts.some(({ is }) => is === 'duplicate'))
    expect(calls).toBe(1)
    await app.close()
  })

  it('hands over to the next process what a draining one had not begun', async () => {
    const url = transport()
    const { app, name, type } = await open(url)
    const handled: string[] = []
    const leaving = Promise.withResolvers<void>()
    app.service(name).on(type, async (event) => {
      // however long publishing takes, most are left
      if (handled.length > 20) await leaving.promise
      await systemClock.sleep(50)
      handled.push(event.id)
    })
    await app.start()
    const ids = await Promise.all(Array.from({ length: 200 }, (_, n) => app.publish(type, n)))
    const closed = app.close(20_000)
    leaving.resolve()
    await closed
    const byFirst = handled.length
    expect(byFirst).toBeLessThan(200)

    const next = await reprieve({ transport: url, store: `sqlite:${join(folder, `${name}.db`)}` })
    next.service(name).on(type, (event) => void handled.push(event.id))
    await next.start()
    await until('all of them', () => new Set(handled).size === 200)
    await next.close()
    expect(handled.toSorted()).toEqual(ids.toSorted())
  })
}

describe('on SQLite', () => promises(() => `sqlite:${join(folder, `t${count}.db`)}`))
describeWith('amqp', 'on a real RabbitMQ', (url) => promises(() => url))
describeWith('kafka', 'on a real Kafka', (url) => promises(() => kafkaUrl(url)))
