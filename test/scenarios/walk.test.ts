import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { dead, later, Permanent, RateLimited, reprieve, Transient } from '../../src/index.ts'
import { testApp } from '../../src/testing/index.ts'

const SERVICE = 'notification-svc'
const TYPE = 'todo.task.created'

const world = async (yaml = 'version: 1') => {
  const app = await testApp({ yaml })
  onTestFinished(() => app.close())
  const only = (is: string) => app.facts.filter((fact) => fact.is === is)
  return { app, clock: app.clock, only }
}

describe('the walk of an event', () => {
  it('hands the decoded event to the handler and acknowledges it', async () => {
    const { app, clock, only } = await world()
    const seen: unknown[] = []
    app.service(SERVICE).on(TYPE, (event, ctx) => {
      seen.push([event.type, event.data, ctx.attempt, ctx.idempotencyKey === event.id])
    })
    await app.publish(TYPE, { owner: 'ann@example.org' })
    await clock.advance(10)
    expect(seen).toEqual([[TYPE, { owner: 'ann@example.org' }, 1, true]])
    expect(only('done')).toHaveLength(1)
  })

  it('takes a reply that throws when it is waited for as a failure, and those beside it go on', async () => {
    const { app, clock, only } = await world('version: 1\ndefaults: { policy: none }')
    app.service(SERVICE).on(TYPE, ({ data }) => {
      const then = () => {
        throw new Error('not ready')
      }
      return data.n === 1 ? ({ then } as never) : undefined
    })
    await Promise.all([0, 1, 2, 3].map((n) => app.publish(TYPE, { n })))
    await clock.advance(10)
    expect(only('done')).toHaveLength(3)
    expect(only('failed')).toMatchObject([{ failure: { message: 'not ready' } }])
    expect(only('trouble')).toEqual([])
  })

  it('retries a transient failure by the policy, each time later, and then succeeds', async () => {
    const { app, clock, only } = await world()
    const at: number[] = []
    app.service(SERVICE).on(TYPE, (_, ctx) => {
      at.push(clock.now())
      if (ctx.attempt < 4) throw new Transient('not yet')
    })
    const began = clock.now()
    await app.publish(TYPE, {})
    await clock.advance(60_000)
    const waits = at.map((each, i) => each - (at[i - 1] ?? began))
    expect(waits[0]).toBe(0)
    for (const [i, [least, most]] of [
      [500, 1000],
      [1000, 2000],
      [2000, 4000],
    ].entries()) {
      expect(waits[i + 1]).toBeGreaterThanOrEqual(least!)
      expect(waits[i + 1]).toBeLessThanOrEqual(most!)
    }
    expect(only('retry')).toHaveLength(3)
    expect(only('done')).toMatchObject([{ attempt: 4 }])
  })

  it('buries after the last attempt, with the whole story, and the office keeps it', async () => {
    const { app, clock } = await world()
    app.service(SERVICE).on(TYPE, () => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    })
    const id = await app.publish(TYPE, { n: 1 }, { correlationId: 'c-1' })
    await clock.advance(5 * 60_000)
    const [kept, ...more] = await app.office.list({}, 10)
    expect(more).toEqual([])
    expect(kept).toMatchObject({
      state: 'open',
      letter: {
        service: SERVICE,
        topic: TYPE,
        destination: `_${SERVICE}.deadletter`,
        category: 'transient',
        reason: 'attempts exhausted',
        code: 'ECONNREFUSED',
        limit: 6,
        event: { id, extensions: { correlationid: 'c-1' } },
        trail: { spent: 6, generation: 0 },
      },
    })
    expect(kept!.letter.trail.records.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('buries a permanent failure, a refusal, bad JSON and a schema violation at once, each by its reason', async () => {
    const { app, clock } = await world()
    const Task = z.object({ owner: z.email() })
    app.service('a').on('a.permanent', () => {
      throw new Permanent('no such user')
    })
    app.service('b').on('b.refused', () => dead('the account is closed'))
    app.service('c').on('c.schema', Task, () => undefined)
    app.service('d').on('d.json', () => undefined)
    await app.publish('a.permanent', {})
    await app.publish('b.refused', {})
    await app.publish('c.schema', { owner: 'nobody' })
    await app.publish('d.json', Buffer.from('{broken'), { datacontenttype: 'application/json' })
    await clock.advance(100)
    const letters = (await app.office.list({}, 10)).map(({ letter }) => [
      letter.service,
      letter.reason,
      letter.kind,
      letter.trail.spent,
    ])
    expect(letters.sort()).toEqual([
      ['a', 'permanent', 'handler', 1],
      ['b', 'refused', 'business', 1],
      ['c', 'undecodable', 'schema', 1],
      ['d', 'undecodable', 'schema', 1],
    ])
  })

  it('gives the schema’s type and value to the handler', async () => {
    const { app, clock } = await world()
    const seen: string[] = []
    app.service(SERVICE).on(TYPE, z.object({ owner: z.string().toUpperCase() }), (event) => {
      seen.push(event.data.owner)
    })
    await app.publish(TYPE, { owner: 'ann' })
    await clock.advance(10)
    expect(seen).toEqual(['ANN'])
  })

  it('waits as long as Retry-After asks', async () => {
    const { app, clock, only } = await world()
    app.service(SERVICE).on(TYPE, (_, ctx) => {
      if (ctx.attempt === 1) throw new RateLimited('slow down', { retryAfter: 42_000 })
    })
    await app.publish(TYPE, {})
    await clock.advance(41_000)
    expect(only('done')).toEqual([])
    await clock.advance(1500)
    expect(only('done')).toHaveLength(1)
  })

  it('puts off without spending an attempt when the handler answers later', async () => {
    const { app, clock, only } = await world()
    let calls = 0
    app.service(SERVICE).on(TYPE, (_, ctx) => {
      expect(ctx.attempt).toBe(1)
      return ++calls < 3 ? later('10s', 'the shop is closed') : undefined
    })
    await app.publish(TYPE, {})
    await clock.advance(25_000)
    expect(calls).toBe(3)
    expect(only('held')).toMatchObject([{ because: 'the shop is closed' }, {}])
    expect(only('done')).toHaveLength(1)
  })

  it('ends an attempt that takes too long, as a failure that is retried, and ignores its late result', async () => {
    const { app, clock, only } = await world('version: 1\ndefaults: { timeout: 2s, policy: standard }')
    let aborted = false
    app.service(SERVICE).on(TYPE, async (_, ctx) => {
      if (ctx.attempt > 1) return
      ctx.signal.addEventListener('abort', () => {
        aborted = true
      })
      await clock.sleep(10_000)
    })
    await app.publish(TYPE, {})
    await clock.advance(60_000)
    expect(aborted).toBe(true)
    expect(only('failed')).toMatchObject([{ failure: { category: 'transient', kind: 'timeout' } }])
    expect(only('done')).toMatchObject([{ attempt: 2 }])
  })

  it('lets urgent events pass the others that wait, by their own priority or by the rules', async () => {
    const { app, clock } = await world(`version: 1
topics: { tasks: ['todo.*'] }
services: { notification-svc: { concurrency: 1, window: 20, events: { todo.alarm: { priority: critical } } } }
`)
    const order: string[] = []
    const release: (() => void)[] = []
    const handle = async (event: { data: { n: string } }) => {
      order.push(event.data.n)
      await new Promise<void>((resolve) => release.push(resolve))
    }
    app.service(SERVICE).on(TYPE, handle).on('todo.alarm', handle)
    await app.publish(TYPE, { n: 'first' })
    await clock.advance(1)
    for (const n of ['a', 'b']) await app.publish(TYPE, { n })
    await app.publish(TYPE, { n: 'urgent' }, { priority: 'high' })
    await app.publish('todo.alarm', { n: 'alarm' })
    await app.publish('todo.alarm', { n: 'no alarm' }, { priority: 'low' })
    for (let n = 0; n < 6; n++) {
      await clock.advance(1)
      release[n]?.()
    }
    await clock.advance(1)
    expect(order).toEqual(['first', 'urgent', 'alarm', 'a', 'b', 'no alarm'])
  })

  it('gives a call the timeout of its operation', async () => {
    const { app, clock, only } = await world(
      'version: 1\ndependencies: { api: { timeout: 10s, timeouts: { search: 1s } } }',
    )
    app.service(SERVICE).on(TYPE, async (_, ctx) => {
      const operation = ctx.attempt === 1 ? 'search' : undefined
      await ctx.call('api', (signal) => clock.sleep(5000, signal), operation)
    })
    await app.publish(TYPE, {})
    await clock.advance(30_000)
    expect(only('failed')).toMatchObject([{ took: 1000, failure: { kind: 'timeout' } }])
    expect(only('done')).toMatchObject([{ attempt: 2, took: 5000 }])
  })

  it('bounds a call to a dependency by that dependency’s timeout', async () => {
    const { app, clock, only } = await world('version: 1\ndependencies: { slow-api: { timeout: 1s } }')
    app.service(SERVICE).on(TYPE, async (_, ctx) => {
      if (ctx.attempt === 1) await ctx.call('slow-api', (signal) => clock.sleep(5000, signal))
    })
    await app.publish(TYPE, {})
    await clock.advance(1200)
    expect(only('failed')).toMatchObject([
      { failure: { kind: 'timeout', message: expect.stringContaining('slow-api') } },
    ])
  })

  it('runs an event once although it was published twice under one id', async () => {
    const { app, clock, only } = await world()
    let calls = 0
    app.service(SERVICE).on(TYPE, () => {
      calls++
    })
    await app.publish(TYPE, { n: 1 }, { id: 'same' })
    await clock.advance(10)
    await app.publish(TYPE, { n: 1 }, { id: 'same' })
    await clock.advance(10)
    expect(calls).toBe(1)
    expect(only('duplicate')).toHaveLength(1)
  })

  it('buries the same id with another payload as a conflict', async () => {
    const { app, clock, only } = await world()
    app.service(SERVICE).on(TYPE, () => undefined)
    await app.publish(TYPE, { n: 1 }, { id: 'same' })
    await clock.advance(10)
    await app.publish(TYPE, { n: 2 }, { id: 'same' })
    await clock.advance(10)
    const [kept, ...more] = await app.office.list({}, 10)
    expect(more).toEqual([])
    expect(kept!.letter.reason).toBe('conflict')
    // it is told as every death, so that screens and alerts see one, and not as a duplicate
    expect(only('failed')).toMatchObject([{ event: 'same', attempt: 1, failure: { name: 'Conflict' } }])
    const { id: letter, destination: to } = kept!.letter
    expect(only('dead')).toMatchObject([{ event: 'same', letter, reason: 'conflict', to }])
    expect(only('duplicate')).toEqual([])
  })

  it('buries an event whose time is over', async () => {
    const { app, clock } = await world()
    let calls = 0
    app.service(SERVICE).on(TYPE, () => {
      calls++
    })
    await app.publish(TYPE, {}, { expires: new Date(clock.now() - 1000).toISOString() })
    await clock.advance(10)
    expect(calls).toBe(0)
    expect((await app.office.list({}, 10)).map(({ letter }) => [letter.reason, letter.kind])).toEqual([
      ['expired', 'expired'],
    ])
  })

  it('lets the exact handler win over the pattern, and runs only one of them', async () => {
    const { app, clock } = await world()
    const seen: string[] = []
    app
      .service(SERVICE)
      .on('todo.task.*', (event) => void seen.push(`pattern ${event.type}`))
      .on(TYPE, (event) => void seen.push(`exact ${event.type}`))
    await app.publish(TYPE, {})
    await app.publish('todo.task.deleted', {})
    await clock.advance(10)
    expect(seen.sort()).toEqual([`exact ${TYPE}`, 'pattern todo.task.deleted'])
  })

  it('keeps the order of a key while it is in retry, and lets other keys pass', async () => {
    const { app, clock } = await world('version: 1\ndefaults: { order: key }')
    const seen: string[] = []
    app.service(SERVICE).on(TYPE, (event, ctx) => {
      if (event.data === 'a1' && ctx.attempt < 3) throw new Transient('again')
      seen.push(event.data)
    })
    for (const name of ['a1', 'a2', 'b1', 'a3', 'b2']) await app.publish(TYPE, name, { orderKey: name[0]! })
    await clock.advance(60_000)
    expect(seen.slice(0, 2)).toEqual(['b1', 'b2'])
    expect(seen.slice(2)).toEqual(['a1', 'a2', 'a3'])
  })

  it('publishes from a handler with the correlation id going along', async () => {
    const { app, clock } = await world()
    const seen: unknown[] = []
    app.service('first').on('order.placed', async (_, ctx) => {
      await ctx.publish('mail.wanted', {})
    })
    app
      .service('second')
      .on('mail.wanted', (event) => void seen.push([event.source, event.extensions.correlationid]))
    await app.publish('order.placed', {}, { correlationId: 'c-7' })
    await clock.advance(10)
    expect(seen).toEqual([['first', 'c-7']])
  })

  it('refuses to publish where nobody is subscribed', async () => {
    const { app } = await world()
    app.service(SERVICE).on(TYPE, () => undefined)
    await expect(app.publish('todo.task.forgotten', {})).rejects.toMatchObject({ code: 'unheard' })
  })
})

describe('draining', () => {
  it('lets a running handler finish and hands back what has not begun', async () => {
    const { app, clock, only } = await world(`version: 1\nservices: { ${SERVICE}: { concurrency: 1 } }`)
    let release = () => {}
    let calls = 0
    app.service(SERVICE).on(TYPE, () => {
      calls++
      return new Promise((resolve) => {
        release = () => resolve(undefined)
      })
    })
    await app.publish(TYPE, 1)
    await app.publish(TYPE, 2)
    await clock.advance(10)
    const drained = app.drain(5000)
    release()
    await clock.runUntil(drained)
    expect(calls).toBe(1)
    expect(only('done')).toHaveLength(1)
    const inlet = await app.transport.subscribe({
      service: SERVICE,
      topic: TYPE,
      consumerGroup: SERVICE,
      types: [TYPE],
      order: 'none',
      lease: 1000,
      window: 10,
      destinations: [],
    })
    expect(await inlet.lag()).toMatchObject({ waiting: 1 })
  })

  it('gives up waiting at its deadline, and no attempt is spent', async () => {
    const { app, clock, only } = await world()
    app
      .service(SERVICE)
      .on(
        TYPE,
        (_, ctx) =>
          new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
      )
    await app.publish(TYPE, 1)
    await clock.advance(10)
    await clock.runUntil(app.drain(5000))
    expect(only('retry')).toEqual([])
    expect(only('failed')).toEqual([])
  })
})

describe('replay', () => {
  const failing = async (yaml?: string) => {
    const all = await world(yaml)
    const state = { mended: false, calls: [] as Record<string, string>[] }
    all.app.service(SERVICE).on(TYPE, (event) => {
      state.calls.push(event.headers)
      if (!state.mended) throw new Permanent('broken')
    })
    const id = await all.app.publish(TYPE, { n: 1 })
    await all.clock.advance(100)
    const [kept] = await all.app.office.list({}, 10)
    return { ...all, state, id, letter: kept!.letter }
  }

  it('goes to the subscription that failed, with its headers, and is resolved by its receipt', async () => {
    const { app, clock, state, id, letter } = await failing(
      'version: 1\nnaming: { receipts: house.receipts }',
    )
    state.mended = true
    expect(await app.office.replay({ service: SERVICE })).toEqual({ sent: [letter.id], skipped: [] })
    expect(app.office.receiptTo).toMatch(/^house\.receipts\.[0-9a-f]{12}$/)
    await clock.advance(1000)
    expect(state.calls.at(-1)).toEqual({
      'x-replayed': 'true',
      'x-original-id': id,
      'x-idempotency-key': id,
      'x-replay-attempt': '1',
    })
    expect(await app.office.show(letter.id)).toMatchObject({ state: 'resolved' })
    expect(await app.office.count({ states: ['open'] })).toBe(0)
  })

  it('that dies again is a new letter, and the old one says so', async () => {
    const { app, clock, letter } = await failing()
    await app.office.replay({ ids: [letter.id] })
    await clock.advance(1000)
    expect(await app.office.show(letter.id)).toMatchObject({ state: 'dead again' })
    const open = await app.office.list({ states: ['open'] }, 10)
    expect(open).toHaveLength(1)
    expect(open[0]!.letter).toMatchObject({ trail: { generation: 1, replay: { letter: letter.id } } })
    expect(open[0]!.letter.id).not.toBe(letter.id)
  })

  it('sent twice by accident has one effect', async () => {
    const { app, clock, state, letter } = await failing()
    state.mended = true
    await app.office.replay({ ids: [letter.id] })
    await app.office.replay({ ids: [letter.id] })
    await clock.advance(60_000)
    expect(state.calls).toHaveLength(2)
    expect(await app.office.show(letter.id)).toMatchObject({ state: 'resolved' })
  })

  it('says why a letter was not sent', async () => {
    const { app, clock, state, letter } = await failing()
    state.mended = true
    await app.office.replay({ ids: [letter.id] })
    await clock.advance(1000)
    expect(await app.office.replay({ ids: [letter.id, 'nonsense'] })).toEqual({
      sent: [],
      skipped: [
        { id: letter.id, because: 'it is resolved' },
        { id: 'nonsense', because: 'no letter has this id' },
      ],
    })
  })
})

describe('bad use', () => {
  it('is refused with a code and a fix', async () => {
    const { app } = await world()
    const service = app.service(SERVICE)
    expect(() => service.on('todo.*.created', () => undefined)).toThrow(/pattern/)
    expect(() => service.on(TYPE, undefined as never)).toThrow(/no function/)
    service.on(TYPE, () => undefined)
    expect(() => service.on(TYPE, () => undefined)).toThrow(/two handlers/)
    expect(() => app.service('no spaces')).toThrow(/can't name a service/)
    await expect(app.publish('todo.*', {})).rejects.toMatchObject({ code: 'bad_event' })
    await expect(app.publish(TYPE, {}, { priority: 'urgent' as never })).rejects.toMatchObject({
      code: 'bad_event',
    })
    await expect(reprieve({ transport: 'carrier-pigeon:' })).rejects.toMatchObject({ code: 'bad_url' })
    await expect(reprieve({ rules: 'nowhere.yaml', transport: 'memory:' })).rejects.toMatchObject({
      code: 'bad_rules',
    })
  })
})
