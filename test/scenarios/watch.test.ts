import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { open as openMemory } from '../../src/adapters/memory/index.ts'
import { open as openSqlite } from '../../src/adapters/sqlite/index.ts'
import type { AlertFact, Fact } from '../../src/contracts/journal.ts'
import { Permanent } from '../../src/index.ts'
import { createWatch } from '../../src/office/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { sampleLetters } from '../../src/testing/letters.ts'
import { testTools } from '../../src/testing/tools.ts'

const OPEN = { memory: openMemory, sqlite: openSqlite }
const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Raised = Fact & AlertFact
const told = (facts: readonly Fact[]): readonly string[] =>
  facts
    .filter((fact): fact is Raised => fact.is === 'alert raised' || fact.is === 'alert ended')
    .map(({ is, metric, of }) => `${is === 'alert raised' ? 'raised' : 'ended'} ${metric} of ${of}`)

const RULES = (alerts: string) => `
version: 1
services:
  mail-svc:
    policy: { attempts: 1 }
    idempotency: { pattern: dedup }
    alerts: ${alerts}
`
const OFF = 'retryRate: off, oldest: off, inflow: off, depth: off, breakerOpen: off, lag: off'

describe('the watch', () => {
  it('takes a snapshot every five minutes, by kept tallies, and says where the depth goes', async () => {
    await using app = await testApp({
      yaml: RULES('{ depth: { above: 3 } }').replace('attempts: 1', 'attempts: 3, backoff: fixed, delay: 1s'),
      watch: true,
    })
    app.service('mail-svc').on('task.created', () => {
      throw Object.assign(new Error('no answer'), { code: 'ECONNREFUSED' })
    })
    await app.start()
    await app.clock.advance(6 * MINUTE)
    for (let n = 0; n < 4; n++) await app.publish('task.created', { n })
    await app.settled()
    await app.clock.advance(30 * MINUTE)
    const { snapshots, trend } = await app.watch.history()
    expect(snapshots).toHaveLength(8)
    expect(snapshots[0]).toMatchObject({ depth: 0, queues: [], errors: {}, over: 0, arrived: 0 })
    expect(snapshots.at(-1)).toMatchObject({
      ...{ depth: 4, over: 1, arrived: 4, averageRetries: 2, errors: { ECONNREFUSED: 4 } },
      queues: [{ service: 'mail-svc', topic: 'task.created', depth: 4 }],
    })
    expect(snapshots.at(-1)!.oldest).toBeGreaterThan(20 * MINUTE)
    expect(trend).toMatchObject({ direction: 'increasing', first: 0, recent: 4 })
    expect((await app.watch.history(2)).trend).toMatchObject({ direction: 'stable', first: 4 })
  })

  it.for(['memory', 'sqlite'] as const)('the history has an end, on %s', async (name) => {
    const tools = testTools()
    const file = join(tmpdir(), `reprieve-watch-${randomUUID()}.db`)
    const opened = await OPEN[name](name === 'memory' ? 'memory:' : `sqlite:${file}`, tools)
    const { board, letters } = opened.store!
    await letters!.keep(sampleLetters(3, tools.clock.now()))
    const watch = createWatch({ letters: letters!, board, processes: board, tools })
    for (let taken = 0; taken < 60; taken++) {
      await tools.clock.runUntil(watch.snapshot())
      await tools.clock.advance(4 * HOUR)
    }
    const { snapshots } = await tools.clock.runUntil(watch.history(1000))
    expect(snapshots).toHaveLength(41)
    expect(tools.clock.now() - snapshots[0]!.at).toBeLessThan(7 * 24 * HOUR)
    expect(snapshots.at(-1)).toMatchObject({ depth: 3, averageRetries: 0, oldest: 59 * 4 * HOUR })
    await tools.clock.runUntil(Promise.all([opened.store!.close(), opened.transport!.close()]))
    rmSync(file, { force: true })
  })

  it('raises an alert once, keeps it while the figure trembles, and ends it when the letters are gone', async () => {
    await using app = await testApp({
      yaml: RULES(`{ ${OFF.replace('depth: off', 'depth: { from: 5, severity: critical, for: 2m }')} }`),
      watch: true,
    })
    let broken = true
    app.service('mail-svc').on('task.created', () => {
      if (broken) throw new Permanent('no such box')
    })
    for (let n = 0; n < 5; n++) await app.publish('task.created', { n })
    await app.settled()
    await app.clock.advance(2 * MINUTE)
    expect(told(app.facts)).toEqual([])
    await app.clock.advance(2 * MINUTE)
    expect(told(app.facts)).toEqual(['raised depth of mail-svc'])
    const { raised } = await app.watch.alerts()
    expect(raised).toMatchObject([{ metric: 'depth', figure: 5, limit: 5, over: '>=', severity: 'critical' }])
    expect(raised[0]!.raisedAt - raised[0]!.since).toBe(2 * MINUTE)

    // to and fro about its line, for half an hour
    const seen: number[] = []
    for (let n = 0; n < 4; n++) {
      const [one] = await app.office.list({ states: ['open'] }, 1)
      await app.office.discard([one!.letter.id])
      await app.clock.advance(4 * MINUTE)
      seen.push((await app.watch.alerts()).raised[0]!.last)
      await app.publish('task.created', { n })
      await app.settled()
      await app.clock.advance(3 * MINUTE)
      seen.push((await app.watch.alerts()).raised[0]!.last)
    }
    expect(seen).toEqual([4, 5, 4, 5, 4, 5, 4, 5])
    expect(told(app.facts)).toEqual(['raised depth of mail-svc'])

    broken = false
    await app.office.replay({})
    await app.settled()
    await app.clock.advance(2 * MINUTE)
    expect(told(app.facts)).toEqual(['raised depth of mail-svc', 'ended depth of mail-svc'])
    const after = await app.watch.alerts()
    expect(after).toMatchObject({ raised: [], ended: [{ metric: 'depth', since: raised[0]!.since }] })
    expect(after.ended[0]!.endedAt).toBeGreaterThan(raised[0]!.raisedAt)
  })

  it('tells of a service that lags behind, until it has caught up', async () => {
    await using app = await testApp({
      yaml: RULES(`{ ${OFF.replace('lag: off', 'lag: { above: 20, for: 2m }')} }\n    timeout: 1h`),
      watch: true,
    })
    const gate = Promise.withResolvers<void>()
    app.service('mail-svc').on('task.created', () => gate.promise)
    await app.start()
    for (let n = 0; n < 200; n++) await app.publish('task.created', { n })
    await app.clock.advance(3 * MINUTE)
    expect(told(app.facts)).toEqual([])
    await app.clock.advance(4 * MINUTE)
    expect(told(app.facts)).toEqual(['raised lag of mail-svc'])
    const { raised } = await app.watch.alerts()
    expect(raised).toMatchObject([{ metric: 'lag', of: 'mail-svc', limit: 20, unit: 'count' }])
    expect(raised[0]!.figure).toBeGreaterThan(100)
    gate.resolve()
    await app.clock.advance(4 * MINUTE)
    expect(told(app.facts)).toEqual(['raised lag of mail-svc', 'ended lag of mail-svc'])
  })

  it('tells how long the oldest event waits, until it has been handled', async () => {
    await using app = await testApp({
      yaml: RULES(
        `{ ${OFF}, lagAge: { above: 10m, for: 0s } }\n    timeout: 2h\n    concurrency: 1\n    window: 1`,
      ),
      watch: true,
    })
    const gate = Promise.withResolvers<void>()
    app.service('mail-svc').on('task.created', () => gate.promise)
    await app.start()
    for (let n = 0; n < 3; n++) await app.publish('task.created', { n })
    await app.clock.advance(9 * MINUTE)
    expect(told(app.facts)).toEqual([])
    await app.clock.advance(4 * MINUTE)
    expect(told(app.facts)).toEqual(['raised lagAge of mail-svc'])
    const { raised } = await app.watch.alerts()
    expect(raised).toMatchObject([{ metric: 'lagAge', of: 'mail-svc', limit: 10 * MINUTE, unit: 'ms' }])
    expect(raised[0]!.figure).toBeGreaterThan(10 * MINUTE)
    expect(raised[0]!.figure).toBeLessThan(14 * MINUTE)
    gate.resolve()
    await app.clock.advance(4 * MINUTE)
    expect(told(app.facts)).toEqual(['raised lagAge of mail-svc', 'ended lagAge of mail-svc'])
  })

  it('more than so many new a minute, the oldest too old, one error behind most: each by its rule', async () => {
    await using app = await testApp({
      yaml: RULES(
        `{ ${OFF.replace('inflow: off', 'inflow: { above: 10, for: 0s }').replace('oldest: off', 'oldest: { from: 30m, for: 0s }')}, errorShare: { above: 50%, atLeast: 11, for: 0s } }`,
      ),
      watch: true,
    })
    app.service('mail-svc').on('task.created', (event) => {
      throw new Permanent((event.data as { n: number }).n % 4 === 0 ? 'no such box' : 'no such street')
    })
    await app.start()
    await app.clock.advance(MINUTE)
    for (let n = 0; n < 12; n++) await app.publish('task.created', { n })
    await app.settled()
    await app.clock.advance(2 * MINUTE)
    expect(told(app.facts)).toEqual(
      expect.arrayContaining(['raised inflow of mail-svc', 'raised errorShare of mail-svc']),
    )
    expect(told(app.facts)).not.toContain('raised oldest of mail-svc')
    await app.clock.advance(31 * MINUTE)
    expect(told(app.facts)).toContain('raised oldest of mail-svc')
    expect(told(app.facts).filter((text) => text.includes('inflow'))).toEqual([
      'raised inflow of mail-svc',
      'ended inflow of mail-svc',
    ])
  })

  it('rates of what services do: retries and duplicates', async () => {
    await using app = await testApp({
      yaml: RULES(
        `{ ${OFF.replace('retryRate: off', 'retryRate: { above: 10% }')}, duplicates: { above: 20% } }`,
      ).replace('attempts: 1', 'attempts: 3, backoff: fixed, delay: 1s'),
      watch: true,
    })
    const failed = new Set<string>()
    app.service('mail-svc').on('task.created', (event) => {
      if (failed.has(event.id)) return
      failed.add(event.id)
      throw Object.assign(new Error('no answer'), { code: 'ECONNREFUSED' })
    })
    await app.start()
    await app.clock.advance(2 * MINUTE)
    for (let minute = 0; minute < 5; minute++) {
      for (let n = 0; n < 6; n++) await app.publish('task.created', { n }, { id: `${minute}-${n}` })
      await app.settled()
      for (let n = 0; n < 6; n++) await app.publish('task.created', { n }, { id: `${minute}-${n}` })
      await app.settled()
      await app.clock.advance(MINUTE)
    }
    await app.clock.advance(MINUTE)
    const { raised } = await app.watch.alerts()
    expect(raised.map(({ metric }) => metric).sort()).toEqual(['duplicates', 'retryRate'])
    for (const { metric, last } of raised)
      expect(last, metric).toBeCloseTo(metric === 'retryRate' ? 0.5 : 1 / 3, 1)
    await app.clock.advance(HOUR)
    expect((await app.watch.alerts()).raised).toEqual([])
    // what the built-in rules and the book say, told again by no flapping
    expect(told(app.facts).filter((text) => text.startsWith('raised'))).toHaveLength(2)
  })

  it('a message in quarantine, until nobody is left there', async () => {
    await using app = await testApp({
      yaml: `
version: 1
services:
  mail-svc:
    policy: { backoff: fixed, delay: 1s, jitter: none, retries: 10, unknownRetries: 10, window: 1h }
    alerts: { ${OFF} }
`,
      watch: true,
    })
    app.service('mail-svc').on('task.created', ({ data }) => {
      if (data.bad) throw new TypeError('no such property')
    })
    await app.start()
    await app.publish('task.created', { bad: true })
    for (let n = 0; n < 5; n++) {
      await app.clock.advance(1000)
      await app.publish('task.created', { n })
    }
    await app.settled()
    await app.clock.advance(3 * MINUTE)
    expect((await app.watch.alerts()).raised).toMatchObject([
      { metric: 'quarantined', of: 'mail-svc', figure: 1, limit: 0, severity: 'critical' },
    ])
    await app.clock.runUntil(app.office.release({}, { reason: 'mended' }))
    await app.clock.advance(15 * MINUTE)
    expect(told(app.facts)).toEqual(['raised quarantined of mail-svc', 'ended quarantined of mail-svc'])
  })

  it('a batch that failed with something critical in it, and none that failed without', async () => {
    await using app = await testApp({
      yaml: `
version: 1
defaults: { alerts: { ${OFF} } }
`,
      watch: true,
    })
    const fail = (events: readonly unknown[]) => events.map(() => new Permanent('no'))
    app.service('mail-svc').onBatch('task.created', fail)
    app.service('stats-svc').onBatch('task.counted', fail)
    await app.start()
    await app.clock.advance(2 * MINUTE)
    await app.publish('task.counted', {})
    await app.publish('task.created', {}, { priority: 'critical' })
    await app.settled()
    await app.clock.advance(4 * MINUTE)
    expect(told(app.facts)).toEqual(['raised criticalBatches of mail-svc'])
    await app.clock.advance(20 * MINUTE)
    expect((await app.watch.alerts()).raised).toEqual([])
  })

  it('batches whose handler takes too long, from the handler to the alert', async () => {
    await using app = await testApp({
      yaml: RULES(`{ ${OFF}, batchTimeouts: { above: 5%, atLeast: 10, for: 0s } }
    timeout: 1s
    batchers: { pairs: { size: 2, timeout: 100ms } }
    batch: pairs`),
      watch: true,
    })
    let hangs = false
    app.service('mail-svc').onBatch('task.created', async (_, { signal }) => {
      if (hangs) await app.clock.sleep(HOUR, signal)
    })
    await app.start()
    await app.clock.advance(2 * MINUTE)
    const batches = async (count: number) => {
      for (let n = 0; n < 2 * count; n++) await app.publish('task.created', { n })
      await app.settled()
      await app.clock.advance(2 * MINUTE)
    }
    await batches(10)
    expect((await app.watch.alerts()).raised).toEqual([])
    hangs = true
    await batches(2)
    const { raised } = await app.watch.alerts()
    expect(raised).toMatchObject([{ metric: 'batchTimeouts', of: 'mail-svc', limit: 0.05 }])
    expect(raised[0]!.last).toBeGreaterThan(0.05)
    expect(told(app.facts)).toEqual(['raised batchTimeouts of mail-svc'])
    await app.clock.advance(HOUR)
    expect(told(app.facts)).toEqual(['raised batchTimeouts of mail-svc', 'ended batchTimeouts of mail-svc'])
  })
})
