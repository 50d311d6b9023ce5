import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { dead, later, Permanent, reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
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
    expect(
      w.only('done').map((fact) => 'event' in fact && [fact.event, fact.is === 'done' && fact.attempt]),
    ).toEqual([
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

describe('a batch that fails as a whole', () => {
  it('is tried again together where that passes with time, each event by its own trail', async () => {
    const w = await world()
    const calls: string[] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => {
      calls.push(events.map(({ id, attempt }) => `${id}#${attempt}`).join(' '))
      if (calls.length === 1) return events.map(({ id }) => (id === 'e0' ? new Transient('one') : undefined))
      if (calls.length === 2) throw new Transient('all')
    })
    await publish(w, 4)
    await w.clock.advance(9000)
    await publish(w, 3, 4)
    await w.app.settled()
    expect(calls).toEqual(['e0#1 e1#1 e2#1 e3#1', 'e4#1 e5#1 e6#1 e0#2', 'e4#2 e5#2 e6#2 e0#3'])
    expect(w.only('done')).toHaveLength(7)
  })

  it('for a reason that may be one event’s is tried event by event: only that one bears it', async () => {
    for (const [error, spent] of [
      [() => new Permanent('a bad one'), 1],
      [() => new Error('cannot read properties of undefined'), 3],
    ] as const) {
      const w = await world()
      const calls: string[] = []
      w.app.service(SERVICE).onBatch(TYPE, (events) => {
        calls.push(events.map(({ id, attempt }) => `${id}#${attempt}`).join(' '))
        if (events.some(({ id }) => id === 'e2')) throw error()
      })
      await publish(w, 4)
      await w.app.settled()
      expect(calls.slice(0, 5)).toEqual(['e0#1 e1#1 e2#1 e3#1', 'e0#1', 'e1#1', 'e2#1', 'e3#1'])
      expect(calls).toHaveLength(4 + spent)
      expect((await letters(w)).map(([id, , , each]) => [id, each])).toEqual([['e2', spent]])
      expect(w.only('done')).toHaveLength(3)
    }
  })

  it('by its timeout is retried, dies of it in the end, and what comes late changes nothing', async () => {
    const w = await world(`${BOOK}    timeout: 5s\n`)
    let aborted = 0
    w.app.service(SERVICE).onBatch(TYPE, async (_, ctx) => {
      ctx.signal.addEventListener('abort', () => aborted++)
      await w.clock.sleep(60_000)
    })
    await publish(w, 4)
    await w.app.settled()
    expect(aborted).toBe(3)
    expect(w.only('batch failed')).toMatchObject(
      Array(3).fill({ size: 4, failed: 4, timedOut: true, took: 5000 }),
    )
    expect(await letters(w)).toEqual([0, 1, 2, 3].map((n) => [`e${n}`, 'attempts exhausted', 'timeout', 3]))
    expect(w.only('done')).toEqual([])
  })
})

describe('batchers', () => {
  it('of urgent events are the fast path: soon full, soon due, and no busy one holds them up', async () => {
    const w = await world(`${BOOK}    events: { mail.alarm: { priority: critical } }\n`)
    const seen: [string | undefined, number, string][] = []
    const began = w.clock.now()
    const note = async (events: readonly { id: string }[], ctx: { batcher: string | undefined }) => {
      seen.push([ctx.batcher, w.clock.now() - began, events.map(({ id }) => id).join(' ')])
      if (ctx.batcher === 'calm') await w.clock.sleep(10_000)
    }
    w.app.service(SERVICE).onBatch(TYPE, note).onBatch('mail.alarm', note)
    await publish(w, 12)
    await w.app.publish(TYPE, {}, { id: 'own', priority: 'high' })
    await w.app.publish('mail.alarm', {}, { id: 'ruled' })
    await w.app.publish('mail.alarm', {}, { id: 'not at all', priority: 'low' })
    await w.clock.advance(100)
    expect(seen.toSorted()).toEqual([
      ['calm', 0, 'e0 e1 e2 e3'],
      ['calm', 0, 'e4 e5 e6 e7'],
      ['urgent', 100, 'own'],
      ['urgent', 100, 'ruled'],
    ])
    await w.app.settled()
    expect(seen.slice(4)).toEqual([
      ['calm', 10_000, 'e8 e9 e10 e11'],
      ['calm', 10_000, 'not at all'],
    ])
  })

  it('tell of a failure that is critical', async () => {
    const w = await world()
    w.app.service(SERVICE).onBatch(TYPE, (events) => {
      return events.map(({ data }) => (data.bad ? new Permanent('no') : undefined))
    })
    await w.app.publish(TYPE, { bad: true }, { priority: 'critical' })
    await w.app.publish(TYPE, { bad: true })
    await w.app.settled()
    expect(w.only('batch failed')).toMatchObject([
      { batcher: 'urgent', critical: true },
      { batcher: 'calm', critical: false },
    ])
  })

  it('keep sources apart where they are asked to', async () => {
    const w = await world(BOOK.replace('size: 4,', 'size: 4, by: source,'))
    const seen: string[] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => void seen.push(events.map(({ id }) => id).join(' ')))
    for (const n of [1, 2, 3, 4]) {
      for (const source of ['a', 'b']) await w.app.publish(TYPE, {}, { id: `${source}${n}`, source })
    }
    await w.app.settled()
    expect(seen).toEqual(['a1 a2 a3 a4', 'b1 b2 b3 b4'])
  })

  it('hold 25 where no book speaks of them, and one where it says off', async () => {
    const plain = await world('version: 1\ndefaults: { window: 100 }')
    const off = await world('version: 1\ndefaults: { batch: off }')
    for (const [w, sizes] of [
      [plain, [25, 5]],
      [off, Array(30).fill(1)],
    ] as const) {
      const seen: number[] = []
      w.app.service(SERVICE).onBatch(TYPE, (events) => void seen.push(events.length))
      await publish(w, 30)
      await w.app.settled()
      expect(seen).toEqual(sizes)
    }
  })

  it('are no larger than the window, which would never let them fill', async () => {
    const w = await world(
      'version: 1\nservices: { mail-svc: { window: 6, batch: { size: 50, timeout: 1h } } }',
    )
    const seen: number[] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => void seen.push(events.length))
    await publish(w, 12)
    await w.clock.advance(1000)
    expect(seen).toEqual([6, 6])
  })
})

describe('batches and the rest of the walk', () => {
  it('an open breaker puts a whole batch off: it is asked once, and no attempt is spent', async () => {
    const w = await world(`${BOOK}    breaker: { failures: 2, open: 30s }\n`)
    const sizes: number[] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => {
      sizes.push(events.length)
      if (sizes.length <= 2) throw new Transient('down')
    })
    await publish(w, 16)
    await w.clock.advance(100)
    // two batches failed, one failure each as the breaker sees it; the others wait
    expect(sizes).toEqual([4, 4])
    expect(w.only('breaker')).toMatchObject([{ to: 'open' }])
    await w.app.settled()
    expect(w.only('done')).toHaveLength(16)
    const attempts = w.only('done').map((fact) => fact.is === 'done' && fact.attempt)
    expect(attempts.filter((attempt) => attempt === 2)).toHaveLength(8)
    expect(await letters(w)).toEqual([])
  })

  it('a call that is refused puts the batch off', async () => {
    const w = await world(`${BOOK}dependencies: { crm: { breaker: { failures: 1, open: 30s } } }\n`)
    let up = false
    w.app.service(SERVICE).onBatch(TYPE, (_, ctx) =>
      ctx.call('crm', () => {
        if (!up) throw new Transient('crm is down')
      }),
    )
    await publish(w, 12)
    await w.clock.advance(100)
    // two batches called at once; the third met the open breaker
    expect(w.only('retry')).toHaveLength(8)
    expect(w.only('held')).toHaveLength(4)
    up = true
    await w.app.settled()
    expect(w.only('done')).toHaveLength(12)
  })

  it('an event that is too late when its batch leaves is buried by itself', async () => {
    const w = await world()
    const seen: string[] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => void seen.push(...events.map(({ id }) => id)))
    const expires = new Date(w.clock.now() + 1000).toISOString()
    await w.app.publish(TYPE, {}, { id: 'late', expires })
    await publish(w, 2)
    await w.app.settled()
    expect(seen).toEqual(['e0', 'e1'])
    expect(await letters(w)).toEqual([['late', 'expired', 'expired', 1]])
  })

  it('order by key holds: of one key never two in a batch, and the next only after the last', async () => {
    const w = await world(`${BOOK}    order: key\n`)
    const seen: string[] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => {
      seen.push(events.map(({ id, attempt }) => `${id}#${attempt}`).join(' '))
      return events.map(({ id, attempt }) => (id === 'a1' && attempt === 1 ? new Transient('no') : undefined))
    })
    for (const id of ['a1', 'a2', 'b1', 'b2']) await w.app.publish(TYPE, {}, { id, orderKey: id[0]! })
    await w.app.settled()
    expect(seen).toEqual(['a1#1 b1#1', 'b2#1', 'a1#2', 'a2#1'])
  })

  it('what gathers longer than a lease stays ours', async () => {
    const w = await world(BOOK.replace('timeout: 2s', 'timeout: 5m'))
    const seen: string[] = []
    w.app.service(SERVICE).onBatch(TYPE, (events) => void seen.push(...events.map(({ id }) => id)))
    await publish(w, 3)
    await w.app.settled()
    expect(seen).toEqual(['e0', 'e1', 'e2'])
    expect([...w.only('lost'), ...w.only('duplicate')]).toEqual([])
  })

  it('events of a batch lead to others: with their correlation id where they share one', async () => {
    const w = await world(`${BOOK}  other: {}\n`)
    const heard: (string | undefined)[] = []
    w.app.service(SERVICE).onBatch(TYPE, async (events, ctx) => {
      ctx.log('sent', { of: events.length })
      await ctx.publish('mail.sent', { ids: events.map(({ id }) => id) })
    })
    w.app.service('other').on('mail.sent', (event) => void heard.push(event.extensions.correlationid))
    for (let n = 0; n < 4; n++) await w.app.publish(TYPE, {}, { correlationId: 'one' })
    await publish(w, 4)
    await w.app.settled()
    expect(heard).toEqual(['one', undefined])
    expect(w.only('log')).toMatchObject(Array(2).fill({ fields: { batch: 4, of: 4 } }))
  })

  it('a drain lets what has begun finish, and hands the rest on with nothing spent', async () => {
    const url = `memory:drained-batches-${process.pid}`
    const rules = readRules(BOOK, 'test.yaml')
    const open = () => reprieve({ rules, transport: url, office: false })
    const seen: string[] = []
    const first = await open()
    let finish = (): void => {}
    const begun = new Promise<void>((resolve) => {
      first.service(SERVICE).onBatch(TYPE, async (events) => {
        resolve()
        await new Promise<void>((end) => {
          finish = end
        })
        seen.push(...events.map(({ id, attempt }) => `${id}#${attempt}`))
      })
    })
    await first.start()
    for (let n = 0; n < 7; n++) await first.publish(TYPE, { n }, { id: `e${n}` })
    await begun
    const closing = first.close()
    finish()
    await closing
    expect(seen).toEqual(['e0#1', 'e1#1', 'e2#1', 'e3#1'])

    const next = await open()
    next.service(SERVICE).onBatch(TYPE, (events) => {
      seen.push(...events.map(({ id, attempt }) => `${id}#${attempt}`))
    })
    await next.start()
    await expect.poll(() => seen.length).toBe(7)
    await next.close()
    expect(seen.slice(4).sort()).toEqual(['e4#1', 'e5#1', 'e6#1'])
  })

  it('a handler that is given up at the drain’s end hands its batch back', async () => {
    const w = await world()
    let calls = 0
    w.app.service(SERVICE).onBatch(TYPE, () => {
      calls++
      return new Promise<void>(() => {})
    })
    await publish(w, 4)
    await w.clock.advance(10)
    await w.app.drain(1000)
    expect(calls).toBe(1)
    expect([...w.only('failed'), ...w.only('done'), ...w.only('lost')]).toEqual([])
  })
})

describe('onBatch', () => {
  it('is what a book with batches is for: whoever takes events one by one is told so at the start', async () => {
    const { app, only } = await world(`${BOOK}    events: { mail.single: { batch: off } }\n`)
    app
      .service(SERVICE)
      .on('mail.old', () => {})
      .on('mail.single', () => {})
      .onBatch(TYPE, () => {})
    await app.start()
    expect(only('notice')).toMatchObject([
      { text: 'mail-svc takes mail.old one by one, though the rules batch them: use onBatch, or batch: off' },
    ])
  })

  it('refuses what on refuses, by its own name', async () => {
    const { app } = await world()
    const service = app.service(SERVICE)
    expect(() => service.onBatch('*mail', () => {})).toThrow(`${SERVICE}.onBatch('*mail', …): the pattern`)
    expect(() => service.onBatch(TYPE, 'no function' as never)).toThrow('was given no function')
    expect(() => service.onBatch(TYPE, {} as never, () => {})).toThrow('no Standard Schema')
    service.on(TYPE, () => {})
    expect(() => service.onBatch(TYPE, () => {})).toThrow(`two handlers for '${TYPE}'`)
  })
})
