import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { dead, later, Permanent, Transient } from '../../src/index.ts'
import { testApp } from '../../src/testing/index.ts'

const SERVICE = 'mail-svc'
const TYPE = 'mail.wanted'
const BOOK = `version: 1
policies: { quick: { backoff: fixed, delay: 10s, jitter: none, retries: 2 } }
services:
  mail-svc:
    policy: quick
    concurrency: 4
    batchers:
      calm: { size: 4, timeout: 2s, concurrency: 2 }
      urgent: { size: 2, timeout: 100ms, concurrency: 1, priorities: [high, critical] }
    batch: calm
`

const world = async (yaml = BOOK) => {
  const app = await testApp({ yaml })
  onTestFinished(() => app.close())
  const only = (is: string) => app.facts.filter((fact) => fact.is === is)
  return { app, clock: app.clock, only }
}
type World = Awaited<ReturnType<typeof world>>

const publish = async ({ app }: World, count: number, from = 0) => {
  for (let n = from; n < from + count; n++) await app.publish(TYPE, { n }, { id: `e${n}` })
}

const letters = async ({ app }: World) =>
  (await app.office.list({}, 100))
    .map(({ letter }) => [letter.event.id, letter.reason, letter.kind, letter.trail.spent])
    .sort()

describe('a batch handler', () => {
  it('is given full batches at once, and the rest when their time is over', async () => {
    const w = await world()
    const seen: [number, number[]][] = []
    const began = w.clock.now()
    w.app.service(SERVICE).onBatch(TYPE, (events) => {
      seen.push([w.clock.now() - began, events.map(({ data }) => data.n)])
    })
    await publish(w, 10)
    await w.clock.advance(1999)
    expect(seen.map(([, batch]) => batch)).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ])
    expect(w.only('done')).toHaveLength(8)
    await w.clock.advance(1)
    expect(seen[2]).toEqual([2000, [8, 9]])
    expect(w.only('batch')).toMatchObject([
      { service: SERVICE, handler: TYPE, batcher: 'calm', size: 4, failed: 0, departed: 'full' },
      { size: 4 },
      { size: 2, departed: 'timeout' },
    ])
  })

  it('fails for some: only they retry or die, each by its own trail, and the rest is acknowledged', async () => {
    const w = await world()
    const calls: string[][] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => {
      calls.push(events.map(({ id, attempt }) => `${id}#${attempt}`))
      return events.map(({ id }) => {
        if (id === 'e1') return new Transient('not now')
        if (id === 'e2') return new Permanent('never')
        if (id === 'e3') return dead('nobody wants it')
        return undefined
      })
    })
    await publish(w, 4)
    await w.app.settled()
    expect(calls).toEqual([['e0#1', 'e1#1', 'e2#1', 'e3#1'], ['e1#2'], ['e1#3']])
    expect(w.only('done')).toMatchObject([{ event: 'e0' }])
    expect(await letters(w)).toEqual([
      ['e1', 'attempts exhausted', 'integration', 3],
      ['e2', 'permanent', 'handler', 1],
      ['e3', 'refused', 'business', 1],
    ])
    expect(w.only('batch failed')).toMatchObject([
      { size: 4, failed: 3, critical: false },
      { size: 1, failed: 1 },
      { size: 1, failed: 1 },
    ])
  })

  it('may answer with what Promise.allSettled says, with later for one, or with one answer for all', async () => {
    const w = await world()
    let closed = true
    w.app.service(SERVICE).onBatch(TYPE, (events) => {
      if (closed) return later('1m', 'closed')
      return Promise.allSettled(
        events.map(async ({ id, attempt }) => {
          if (id === 'e1' && attempt === 1) throw new Transient('not now')
          if (id === 'e2') return w.clock.now() > opens + 60_000 ? undefined : later('2m')
        }),
      )
    })
    const opens = w.clock.now() + 60_000
    await publish(w, 4)
    await w.clock.advance(1000)
    expect(w.only('held')).toHaveLength(4)
    closed = false
    await w.app.settled()
    expect(w.only('done')).toHaveLength(4)
    expect(w.only('done').map((fact) => 'event' in fact && [fact.event, fact.is === 'done' && fact.attempt])).toEqual([
      ['e0', 1],
      ['e3', 1],
      ['e1', 2],
      ['e2', 1],
    ])
  })

  it('never sees what does not fit its schema, nor what was seen before', async () => {
    const w = await world()
    const seen: number[][] = []
    w.app.service(SERVICE).onBatch(TYPE, z.object({ n: z.number().max(4) }), (events) => {
      seen.push(events.map(({ data }) => data.n))
    })
    await publish(w, 6)
    await w.clock.advance(3000)
    await w.app.publish(TYPE, { n: 1 }, { id: 'e1' })
    await w.clock.advance(3000)
    expect(seen).toEqual([[0, 1, 2, 3], [4]])
    expect(await letters(w)).toEqual([['e5', 'undecodable', 'schema', 1]])
    expect(w.only('duplicate')).toHaveLength(1)
  })

  it('that answers for too few fails for all, and says so', async () => {
    const w = await world()
    w.app.service(SERVICE).onBatch(TYPE, () => [undefined])
    await publish(w, 4)
    await w.clock.advance(3000)
    expect((await letters(w)).map(([id, reason]) => [id, reason])).toEqual(
      [0, 1, 2, 3].map((n) => [`e${n}`, 'permanent']),
    )
    expect(w.only('failed')[0]).toMatchObject({
      failure: { message: `the batch handler ${TYPE} answered with 1 entries for 4 events` },
    })
  })
})
