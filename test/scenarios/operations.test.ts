import { describe, expect, it } from 'vitest'
import type { LetterFilter } from '../../src/contracts/letters.ts'
import { Permanent } from '../../src/index.ts'
import { decisionsOf } from '../../src/office/index.ts'
import { type TestApp, testApp } from '../../src/testing/index.ts'

const SERVICE = 'mail-svc'
const TYPE = 'task.created'
const MINUTE = 60_000

/** An app whose handler refuses until it is mended, and so many letters of it. */
const broken = async (count: number, yaml = 'version: 1\n') => {
  const app = await testApp({ yaml })
  const state = { mended: false, calls: [] as string[] }
  app.service(SERVICE).on(TYPE, (event) => {
    state.calls.push(event.id)
    if (!state.mended) throw new Permanent('no box')
  })
  for (let n = 0; n < count; n++) {
    await app.publish(TYPE, { n }, { id: `e-${n}` })
    await app.clock.advance(5) // each has its own moment of death
  }
  await app.settled()
  state.calls.length = 0
  return { app, state, desk: app.office.operations, ...app, [Symbol.asyncDispose]: () => app.close() }
}

/** Lets the offices work until it stands so. */
const becomes = async ({ clock, office }: TestApp, id: string, state: string) => {
  for (let n = 0; n < 200; n++) {
    const kept = await office.operations.show(id)
    if (kept.operation.state === state) return kept
    await clock.advance(500)
  }
  return office.operations.show(id)
}

const acts = async ({ audit }: TestApp) =>
  (await audit.list({}, 1000)).toReversed().map(({ act, who, count }) => [act, who, count])

describe('a replay of a whole set', () => {
  it('is frozen with a hash, told of first, and followed to the end by receipts', async () => {
    await using all = await broken(120)
    const { app, state, desk } = all
    const planned = await desk.plan({ service: SERVICE }, {}, { as: 'ann', reason: 'mended' })
    expect(planned.operation).toMatchObject({
      state: 'frozen',
      by: 'ann',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(decisionsOf(planned)).toEqual({ replay: 120 })
    await app.publish(TYPE, { n: 'late' }, { id: 'late' })
    await app.settled()
    state.mended = true
    const { id } = planned.operation
    await desk.start(id, { as: 'ann' })
    const done = await becomes(app, id, 'done')
    expect(done.counts).toMatchObject({ resolved: 120, waiting: 0, sent: 0 })
    expect(done.operation.hash).toBe(planned.operation.hash)
    // the oldest first, and nothing that arrived after it was frozen
    expect(state.calls.slice(1)).toEqual(Array.from({ length: 120 }, (_, n) => `e-${n}`))
    expect(await app.office.count({ states: ['open'] })).toBe(1)
    expect(await acts(app)).toEqual([
      ['operation plan', 'ann', 120],
      ['operation start', 'ann', 120],
      ['replay', 'ann', 50],
      ['replay', 'ann', 70],
    ])
    expect((await app.audit.verify()).broken).toBeUndefined()
  })

  it('sends canaries first, and stops by itself when too many died again', async () => {
    await using all = await broken(30)
    const { app, state, desk } = all
    const { operation } = await desk.plan({}, { canary: { size: 5, deaths: 0.2, wait: MINUTE } })
    await desk.start(operation.id)
    const stopped = await becomes(app, operation.id, 'stopped')
    expect(stopped.operation.because).toBe('5 of 5 canaries died again')
    expect(stopped.counts).toMatchObject({ 'dead again': 5, waiting: 25 })
    expect(state.calls).toHaveLength(5)
    expect((await acts(app)).at(-1)).toEqual(['operation stop', 'somebody', 30])
    state.mended = true
    const next = await desk.plan({}, { canary: 5 })
    expect(decisionsOf(next)).toEqual({ replay: 25, 're-entry limit': 5 })
    await desk.start(next.operation.id)
    expect((await becomes(app, next.operation.id, 'done')).counts).toMatchObject({ resolved: 25, skipped: 5 })
  })

  it('waits for its canaries, and pauses where they are not back in time', async () => {
    await using all = await broken(10)
    const { app, state, desk } = all
    await app.hand.pause(SERVICE)
    await app.clock.advance(5000)
    const { operation } = await desk.plan({}, { canary: { size: 2, wait: MINUTE } })
    await desk.start(operation.id)
    await app.clock.advance(MINUTE / 2)
    expect((await desk.show(operation.id)).operation.state).toBe('watching')
    await app.clock.advance(MINUTE)
    const paused = await desk.show(operation.id)
    expect(paused.operation.paused).toMatchObject({ because: '2 of 2 canaries are not back in time' })
    expect(paused.counts).toMatchObject({ sent: 2, waiting: 8 })
    state.mended = true
    await app.hand.resume(SERVICE)
    await desk.resume(operation.id)
    expect((await becomes(app, operation.id, 'done')).counts).toMatchObject({ resolved: 10 })
  })

  it('is paused, resumed and cancelled; what is on its way is still heard of', async () => {
    await using all = await broken(60)
    const { app, state, desk } = all
    state.mended = true
    const { operation } = await desk.plan({}, { batch: 10, rate: 10 })
    const { id } = operation
    await desk.start(id, { as: 'ann' })
    await app.clock.advance(1500)
    await desk.pause(id, { as: 'bob', reason: 'too fast' })
    await app.clock.advance(1)
    const sent = state.calls.length
    expect(sent).toBeGreaterThan(0)
    expect(sent).toBeLessThan(60)
    await app.clock.advance(MINUTE)
    expect((await desk.show(id)).operation.paused).toMatchObject({ by: 'bob', because: 'too fast' })
    expect(state.calls.length).toBeLessThanOrEqual(sent + 10)
    const before = state.calls.length
    await desk.resume(id, { as: 'bob' })
    await app.clock.advance(2500)
    expect(state.calls.length).toBeGreaterThan(before)
    const cancelled = await desk.cancel(id, { as: 'bob', reason: 'enough' })
    expect(cancelled.operation).toMatchObject({ state: 'cancelled', because: 'by bob: enough' })
    await app.clock.advance(MINUTE)
    const { counts } = await desk.show(id)
    expect(counts.resolved).toBe(state.calls.length)
    expect(counts.resolved + counts.waiting).toBe(60)
    expect(new Set(state.calls).size).toBe(state.calls.length)
    await expect(desk.resume(id)).rejects.toMatchObject({ code: 'bad_usage' })
    // its letters are free again
    expect(decisionsOf(await desk.plan({}))).toEqual({ replay: counts.waiting })
  })

  it('keeps to its rate', async () => {
    await using all = await broken(100)
    const { app, state, desk } = all
    state.mended = true
    const { operation } = await desk.plan({}, { batch: 10, rate: 5 })
    await desk.start(operation.id)
    await app.clock.advance(10_000)
    expect(state.calls.length).toBeGreaterThanOrEqual(50)
    expect(state.calls.length).toBeLessThanOrEqual(60)
    await app.clock.advance(12_000)
    expect(state.calls).toHaveLength(100)
  })

  it('has each letter in one live operation, of two operators on the same filter', async () => {
    await using all = await broken(20)
    const { app, state, desk } = all
    state.mended = true
    const both = await Promise.all([desk.plan({}, {}, { as: 'ann' }), desk.plan({}, {}, { as: 'bob' })])
    const waiting = both.map(({ counts }) => counts.waiting)
    expect(waiting[0]! + waiting[1]!).toBe(20)
    expect(both.map(({ reasons }) => reasons['in another operation'] ?? 0)).toEqual(
      waiting.map((n) => 20 - n),
    )
    for (const { operation } of both) await desk.start(operation.id)
    for (const { operation } of both) await becomes(app, operation.id, 'done')
    expect([...state.calls].sort()).toEqual(Array.from({ length: 20 }, (_, n) => `e-${n}`).sort())
  })

  it('says a reason for each letter that stays: done, unknown', async () => {
    await using all = await broken(3)
    const { app, state, desk } = all
    const [first, second] = await app.office.list({}, 3)
    await app.office.discard([first!.letter.id])
    const ids = [first!.letter.id, second!.letter.id, 'nobody']
    const planned = await desk.plan({ ids })
    expect(decisionsOf(planned)).toEqual({ replay: 1, 'already done': 1, 'unknown letter': 1 })
    const items = await desk.items(planned.operation.id, { states: ['skipped'] })
    expect(items.map(({ because }) => because).sort()).toEqual(['already done', 'unknown letter'])
    state.mended = true
    await desk.start(planned.operation.id)
    expect((await becomes(app, planned.operation.id, 'done')).counts).toMatchObject({
      resolved: 1,
      skipped: 2,
    })
  })

  it('runs again what is done only where that is said on purpose, and the audit has it', async () => {
    await using all = await broken(1)
    const { app, state, desk } = all
    state.mended = true
    const [kept] = await app.office.list({}, 1)
    await app.office.replay({ ids: [kept!.letter.id] })
    await app.clock.advance(1000)
    expect(state.calls).toEqual(['e-0'])
    // by a filter it must be said which are meant: else it were all that ever ended, or none
    for (const word of ['already done', 'on its way'] as const) {
      const asked = { code: 'bad_usage', message: expect.stringContaining(word) }
      await expect(desk.plan({ service: SERVICE }, { although: [word] })).rejects.toMatchObject(asked)
      await expect(app.office.replay({}, { although: [word] })).rejects.toMatchObject(asked)
    }
    const done = { service: SERVICE, states: ['resolved'] } as const
    expect(decisionsOf(await desk.plan(done))).toEqual({ 'already done': 1 })
    const again = await desk.plan(done, { although: ['already done'] })
    await desk.start(again.operation.id)
    await becomes(app, again.operation.id, 'done')
    expect(state.calls).toHaveLength(2)
    const [entry] = await app.audit.list({ act: 'replay' })
    expect(entry!.details).toMatchObject({ although: ['already done'] })
    await expect(desk.plan({}, { although: ['whatever' as never] })).rejects.toMatchObject({
      code: 'bad_usage',
    })
  })

  it('has one live replay of a letter: after a cancellation too, unless that is passed over on purpose', async () => {
    await using all = await broken(1)
    const { app, state, desk } = all
    state.mended = true
    await app.hand.pause(SERVICE)
    await app.clock.advance(5000)
    const [kept] = await app.office.list({}, 1)
    const ids = [kept!.letter.id]
    const { operation } = await desk.plan({ ids })
    await desk.start(operation.id)
    await app.clock.advance(2000)
    expect((await desk.show(operation.id)).counts).toMatchObject({ sent: 1 })
    await desk.cancel(operation.id)
    expect(decisionsOf(await desk.plan({ ids }))).toEqual({ 'on its way': 1 })
    expect(await app.office.replay({ ids })).toEqual({
      sent: [],
      skipped: [{ id: ids[0], because: 'it is replaying' }],
    })
    // for who knows that it was lost
    const again = await desk.plan({ ids }, { although: ['on its way'] })
    expect(decisionsOf(again)).toEqual({ replay: 1 })
    await desk.start(again.operation.id)
    await app.hand.resume(SERVICE)
    expect((await becomes(app, again.operation.id, 'done')).counts).toMatchObject({ resolved: 1 })
    expect(state.calls).toEqual(['e-0'])
    const [entry] = await app.audit.list({ act: 'replay' })
    expect(entry!.details).toMatchObject({ although: ['on its way'] })
  })

  it('leaves out what is expired, and whose downstream has an open breaker', async () => {
    const yaml = `version: 1
operations: { ttl: 1h }
services: { ${SERVICE}: { dependencies: [smtp] } }
dependencies: { smtp: {} }
`
    await using all = await broken(2, yaml)
    const { app, desk } = all
    const plan = async (filter: LetterFilter = {}) => {
      const planned = await desk.plan(filter)
      await desk.cancel(planned.operation.id)
      return decisionsOf(planned)
    }
    expect(await plan()).toEqual({ replay: 2 })
    await app.hand.breaker('smtp', 'open')
    expect(await plan()).toEqual({ 'downstream unhealthy': 2 })
    await app.clock.advance(61 * MINUTE)
    expect(await plan()).toEqual({ expired: 2 })
    await app.hand.breaker('smtp', 'closed')
    const planned = await desk.plan({}, { although: ['expired'] })
    expect(decisionsOf(planned)).toEqual({ replay: 2 })
  })

  it('is nothing where nothing fits, and a name that is empty is refused', async () => {
    await using all = await broken(1)
    const { app, desk } = all
    const { operation } = await desk.plan({ service: 'mial-svc' })
    expect(operation).toMatchObject({ state: 'cancelled', because: 'no letter fits' })
    expect(await desk.list({ live: true })).toEqual([])
    await expect(desk.start(operation.id)).rejects.toMatchObject({ code: 'bad_usage' })
    const bad = { code: 'bad_filter' }
    const why = { reason: 'test data' }
    for (const name of ['service', 'topic', 'type', 'code', 'fingerprint', 'beginning'] as const) {
      for (const filter of [{ [name]: '' }, { [name]: ' ' }] as LetterFilter[]) {
        await expect(desk.plan(filter, { kind: 'purge' }, why)).rejects.toMatchObject(bad)
        await expect(app.office.replay(filter)).rejects.toMatchObject(bad)
        await expect(app.office.discard(filter)).rejects.toMatchObject(bad)
        await expect(app.office.resolve(filter, why)).rejects.toMatchObject(bad)
        await expect(app.office.repair(filter, { set: { '$.a': 1 } })).rejects.toMatchObject(bad)
        await expect(app.office.find(filter)).rejects.toMatchObject(bad)
        await expect(app.office.list(filter, 1)).rejects.toMatchObject(bad)
        await expect(app.office.count(filter)).rejects.toMatchObject(bad)
        await expect(app.office.exportLines(filter).next()).rejects.toMatchObject(bad)
      }
    }
    expect(await desk.list()).toHaveLength(1)
  })

  it('goes nowhere where nobody is subscribed, and its letters stay open', async () => {
    await using all = await broken(2)
    const { app, desk } = all
    const { operation } = await desk.plan({}, { to: { service: 'nobody-svc' } })
    await desk.start(operation.id)
    const done = await becomes(app, operation.id, 'done')
    expect(done.counts).toMatchObject({ failed: 2 })
    expect(done.reasons).toEqual({ 'unknown subscription': 2 })
    expect(await app.office.count({ states: ['open'] })).toBe(2)
    expect((await acts(app)).map(([act]) => act)).toContain('replay undone')
  })
})

describe('approval', () => {
  const yaml = 'version: 1\noperations: { approval: { above: 2 }, approvalLasts: 1h }\n'

  it('is asked for above so many, and given by somebody else, for this very set', async () => {
    await using all = await broken(5, yaml)
    const { app, state, desk } = all
    state.mended = true
    const planned = await desk.plan({}, {}, { as: 'ann' })
    const { id, hash } = planned.operation
    expect(decisionsOf(planned)).toEqual({ 'needs approval': 5 })
    expect((await desk.start(id, { as: 'ann' })).operation.state).toBe('needs approval')
    await app.clock.advance(5000)
    expect(state.calls).toEqual([])
    await expect(desk.approve(id, { as: 'ann' })).rejects.toMatchObject({ code: 'not_allowed' })
    await expect(desk.approve(id, { as: 'bob', hash: '0'.repeat(64) })).rejects.toMatchObject({
      code: 'not_allowed',
    })
    const approved = await desk.approve(id, { as: 'bob', hash: hash!.slice(0, 12) })
    expect(approved.operation.approval).toMatchObject({ by: 'bob', hash })
    const done = await becomes(app, id, 'done')
    expect(done.counts).toMatchObject({ resolved: 5 })
    expect(done.operation.until).toBeUndefined()
    expect((await acts(app)).slice(0, 2)).toEqual([
      ['operation plan', 'ann', 5],
      ['operation approve', 'bob', 5],
    ])
    await expect(desk.approve(id, { as: 'bob' })).rejects.toMatchObject({ code: 'bad_usage' })
    await expect(app.office.replay({})).resolves.toEqual({ sent: [], skipped: [] })
  })

  it('is not asked for few, and nothing quick goes past it', async () => {
    await using all = await broken(3, yaml)
    const { app, desk, state } = all
    await expect(app.office.replay({}, { as: 'ann' })).rejects.toMatchObject({ code: 'not_allowed' })
    expect(state.calls).toEqual([])
    const [refused] = await app.audit.list({ act: 'operation cancel' })
    expect(refused).toMatchObject({ who: 'ann', count: 3, reason: 'it needs approval' })
    expect((await desk.list())[0]!.operation).toMatchObject({
      ...{ state: 'cancelled', because: 'it needs approval' },
    })
    const [one] = await app.office.list({}, 1)
    expect((await app.office.replay({ ids: [one!.letter.id] })).sent).toHaveLength(1)
    expect((await desk.plan({})).operation.state).toBe('frozen')
  })

  it('comes too late after its time', async () => {
    await using all = await broken(3, yaml)
    const { app, desk } = all
    const { operation } = await desk.plan({}, {}, { as: 'ann' })
    await app.clock.advance(61 * MINUTE)
    await expect(desk.approve(operation.id, { as: 'bob' })).rejects.toMatchObject({ code: 'bad_usage' })
    expect((await desk.show(operation.id)).operation).toMatchObject({
      state: 'cancelled',
      because: 'nobody began it in time',
    })
  })

  it('holds for a time: what is not begun until then is cancelled', async () => {
    await using all = await broken(3, yaml)
    const { app, desk, state } = all
    state.mended = true
    const { id } = (await desk.plan({}, {}, { as: 'ann' })).operation
    await desk.pause(id, { as: 'ann' })
    await desk.approve(id, { as: 'bob' })
    await app.clock.advance(61 * MINUTE)
    expect((await desk.show(id)).operation.state).toBe('approved')
    await desk.resume(id, { as: 'ann' })
    const { operation, counts } = await becomes(app, id, 'cancelled')
    expect(operation).toMatchObject({ state: 'cancelled', because: 'its approval has expired' })
    expect([counts.waiting, state.calls]).toEqual([3, []])
  })

  it('always, but for what the rules let go by itself', async () => {
    const always = `version: 1
operations: { approval: always }
services: { ${SERVICE}: { deadLetter: { reprocessing: automatic } } }
`
    await using all = await broken(2, always)
    const planned = await all.desk.plan({})
    expect(decisionsOf(planned)).toEqual({ replay: 2 })
    // a number is about the size of the set, whatever the rules say of its letters
    await using many = await broken(3, always.replace('always', '{ above: 2 }'))
    expect(decisionsOf(await many.desk.plan({}))).toEqual({ 'needs approval': 3 })
    await using other = await broken(2, 'version: 1\noperations: { approval: always }\n')
    expect(decisionsOf(await other.desk.plan({}))).toEqual({ 'needs approval': 2 })
  })
})

describe('a purge', () => {
  it('takes letters away with a reason, batch by batch, each with its entry', async () => {
    await using all = await broken(70)
    const { app, desk } = all
    await expect(desk.plan({}, { kind: 'purge' })).rejects.toMatchObject({ code: 'bad_usage' })
    const { operation } = await desk.plan(
      { service: SERVICE },
      { kind: 'purge' },
      { as: 'ann', reason: 'test data' },
    )
    await desk.start(operation.id, { as: 'ann' })
    const done = await becomes(app, operation.id, 'done')
    expect(done.counts).toMatchObject({ purged: 70 })
    expect(await app.office.count({})).toBe(0)
    expect(await app.office.groups({ all: true })).toEqual([])
    const purges = await app.audit.list({ act: 'purge' })
    expect(purges.map(({ count, reason }) => [count, reason])).toEqual([
      [20, 'test data'],
      [50, 'test data'],
    ])
  })

  it('takes by a filter only what is not at an end, unless states are named, and tells how many were in which', async () => {
    await using all = await broken(4)
    const { app, state, desk } = all
    const [first, second] = (await app.office.list({}, 4)).map(({ letter }) => letter.id)
    await app.office.discard([first!])
    state.mended = true
    await app.office.replay({ ids: [second!] })
    await app.clock.advance(2000)
    const purge = async (filter: LetterFilter) => {
      const planned = await desk.plan(filter, { kind: 'purge' }, { reason: 'test data' })
      await desk.cancel(planned.operation.id)
      return [planned.operation.found, decisionsOf(planned)]
    }
    expect(await purge({ service: SERVICE })).toEqual([{ open: 2 }, { purge: 2 }])
    const ended = { discarded: 1, resolved: 1 }
    expect(await purge({ states: ['discarded', 'resolved'] })).toEqual([ended, { purge: 2 }])
    expect(await purge({ ids: [first!, 'nobody'] })).toEqual([
      { discarded: 1, unknown: 1 },
      { purge: 1, 'unknown letter': 1 },
    ])
  })

  it('and a replay never have the same letter', async () => {
    await using all = await broken(20)
    const { app, state, desk } = all
    state.mended = true
    const [replay, purge] = await Promise.all([
      desk.plan({}, { batch: 3 }),
      desk.plan({}, { kind: 'purge', batch: 3 }, { reason: 'old' }),
    ])
    await Promise.all([replay!, purge!].map(({ operation }) => desk.start(operation.id)))
    const sent = (await becomes(app, replay!.operation.id, 'done')).counts
    const gone = (await becomes(app, purge!.operation.id, 'done')).counts
    expect(sent.resolved + gone.purged).toBe(20)
    expect(state.calls).toHaveLength(sent.resolved)
    expect(await app.office.count({})).toBe(sent.resolved)
  })

  it('lets go what waits behind a letter with its order key', async () => {
    const yaml = `version: 1
services: { ${SERVICE}: { order: key, afterDeath: hold } }
`
    await using app = await testApp({ yaml })
    const done: string[] = []
    app.service(SERVICE).on(TYPE, (event) => {
      if (event.id === 'a-1') throw new Permanent('no')
      done.push(event.id)
    })
    for (const id of ['a-1', 'a-2', 'a-3']) await app.publish(TYPE, {}, { id, orderKey: 'a' })
    await app.settled()
    expect(done).toEqual([])
    const { operation } = await app.office.operations.plan({}, { kind: 'purge' }, { reason: 'not wanted' })
    await app.office.operations.start(operation.id)
    await becomes(app, operation.id, 'done')
    await app.settled()
    expect(done).toEqual(['a-2', 'a-3'])
  })
})
