import { describe, expect, it } from 'vitest'
import { CallRefused, Permanent, type Reprieve, reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testTools } from '../../src/testing/tools.ts'

const BOOK = `version: 1
policies:
  steady: { backoff: fixed, delay: 1s, jitter: none, retries: 20, window: 1h }
dependencies:
  crm: { breaker: { failures: 3, open: 30s, probes: 1, successes: 1 } }
services:
  mail:
    policy: steady
    events:
      order.placed: { dependencies: [crm] }
      order.rated: {}
`

const world = async (book = BOOK) => {
  const tools = testTools()
  const app = await reprieve({ rules: readRules(book, 'reprieve.yaml', {}), transport: 'memory:', ...tools })
  const only = (is: string) => tools.facts.filter((fact) => fact.is === is)
  const close = () => tools.clock.runUntil((app as Reprieve).close())
  return { app, only, close, ...tools }
}

/** A dependency that can be switched off, and counts what it was asked. */
const dependency = () => {
  const it = { up: true, calls: 0 }
  const call = async (sleep: () => Promise<void> = async () => {}) => {
    it.calls++
    await sleep()
    if (!it.up) throw new Transient('crm is down')
  }
  return Object.assign(it, { call })
}

describe('a breaker around a dependency', () => {
  it('opens on its third failure, is asked before each attempt, and spends none while it is open', async () => {
    const { app, clock, only, close } = await world()
    const crm = dependency()
    crm.up = false
    const attempts: number[] = []
    app.service('mail').on('order.placed', async (_, ctx) => {
      attempts.push(ctx.attempt)
      await ctx.call('crm', () => crm.call())
    })
    await app.start()
    for (let n = 0; n < 10; n++) await app.publish('order.placed', { n })
    await clock.advance(29_000)
    expect(crm.calls).toBe(10) // all ten were under way before the third had failed
    expect(only('breaker')).toMatchObject([{ name: 'crm', from: 'closed', to: 'open' }])
    const before = crm.calls
    await clock.advance(10 * 60_000)
    // one probe each half minute, and nothing else
    expect(crm.calls - before).toBeLessThanOrEqual(21)
    crm.up = true
    await clock.advance(60_000)
    expect(only('done')).toHaveLength(10)
    expect(only('dead')).toEqual([])
    // twenty probes went to ten events: none has spent more than its share, and the outage none at all
    expect(Math.max(...attempts)).toBeLessThan(20)
    expect(only('breaker').at(-1)).toMatchObject({ to: 'closed' })
    await close()
  })

  it('stops only what depends on it: other types of the same door are pulled', async () => {
    const { app, clock, only, close } = await world(`${BOOK}topics: { orders: ['order.*'] }\n`)
    const crm = dependency()
    crm.up = false
    const seen: string[] = []
    app
      .service('mail')
      .on('order.placed', async (_, ctx) => ctx.call('crm', () => crm.call()))
      .on('order.rated', (event) => void seen.push(event.data.n))
    await app.start()
    for (let n = 0; n < 3; n++) await app.publish('order.placed', { n })
    await clock.advance(5)
    const { length } = only('held')
    for (let n = 0; n < 50; n++) await app.publish('order.placed', { n })
    for (let n = 0; n < 5; n++) await app.publish('order.rated', { n })
    await clock.advance(5000)
    expect(seen).toHaveLength(5)
    expect(crm.calls).toBe(3)
    // those that came while it was open were not even pulled
    expect(only('held').length - length).toBeLessThanOrEqual(3)
    await close()
  })

  it('lets one probe through, and the others when that has answered', async () => {
    const { app, clock, only, close } = await world()
    const crm = dependency()
    crm.up = false
    app.service('mail').on('order.placed', async (_, ctx) => {
      await ctx.call('crm', () => crm.call(() => clock.sleep(200)))
    })
    await app.start()
    for (let n = 0; n < 3; n++) await app.publish('order.placed', { n })
    await clock.advance(1000)
    expect(only('breaker')).toHaveLength(1)
    for (let n = 0; n < 20; n++) await app.publish('order.placed', { n })
    crm.up = true
    await clock.advance(29_300)
    expect(crm.calls).toBe(3 + 1)
    await clock.advance(700)
    expect(only('breaker').map((fact) => fact.is === 'breaker' && fact.to)).toEqual([
      'open',
      'half-open',
      'closed',
    ])
    await clock.advance(60_000)
    expect(only('done')).toHaveLength(23)
    await close()
  })

  it('is shared by all services of the process', async () => {
    const { app, clock, close } = await world(`${BOOK}  sms:\n    policy: steady\n    dependencies: [crm]\n`)
    const crm = dependency()
    crm.up = false
    const asked: string[] = []
    for (const name of ['mail', 'sms']) {
      app.service(name).on('order.placed', async (_, ctx) => {
        asked.push(name)
        await ctx.call('crm', () => crm.call())
      })
    }
    await app.start()
    await app.publish('order.placed', {})
    await clock.advance(25_000)
    expect(crm.calls).toBeLessThanOrEqual(4)
    expect(new Set(asked)).toEqual(new Set(['mail', 'sms']))
    await close()
  })

  it('hears nothing of what the other side rightly refuses', async () => {
    const { app, clock, only, close } = await world()
    app.service('mail').on('order.placed', async (_, ctx) => {
      await ctx.call('crm', () => {
        throw new Permanent('no such customer')
      })
    })
    await app.start()
    for (let n = 0; n < 10; n++) await app.publish('order.placed', { n })
    await clock.advance(1000)
    expect(only('dead')).toHaveLength(10)
    expect(only('breaker')).toEqual([])
    await close()
  })

  it('holds an event whose handler calls what its rules do not name, and one that knows another way goes on', async () => {
    const { app, clock, only, close } = await world()
    const crm = dependency()
    crm.up = false
    const ways: string[] = []
    app.service('mail').on('order.rated', async (event, ctx) => {
      try {
        await ctx.call('crm', () => crm.call())
      } catch (error) {
        if (!(error instanceof CallRefused && event.data.other)) throw error
        ways.push(error.dependency)
      }
    })
    await app.start()
    for (let n = 0; n < 3; n++) await app.publish('order.rated', {})
    await clock.advance(1)
    await app.publish('order.rated', {})
    await app.publish('order.rated', { other: true })
    await clock.advance(100)
    expect(only('held')).toMatchObject([{ because: 'the breaker of crm is open' }])
    expect(ways).toEqual(['crm'])
    expect(only('done')).toHaveLength(1)
    await close()
  })
})

describe('what can not be held', () => {
  const book = (row: string) => `version: 1
policies:
  brief: { backoff: fixed, delay: 1s, jitter: none, retries: 20, window: 20s }
dependencies:
  crm: { breaker: { failures: 1, open: 30s } }
services:
  mail: { events: { order.placed: { policy: brief, dependencies: [crm], ${row} } } }
`

  it('is buried when its window ends before the breaker may close', async () => {
    const { app, clock, only, close } = await world(book('timeout: 5s'))
    const crm = dependency()
    crm.up = false
    app.service('mail').on('order.placed', async (_, ctx) => ctx.call('crm', () => crm.call()))
    await app.start()
    await app.publish('order.placed', {})
    await clock.advance(5000)
    expect(only('dead')).toMatchObject([{ reason: 'window exhausted' }])
    const [letter] = await clock.runUntil(app.office.list({}, 10))
    expect(letter).toMatchObject({ letter: { error: 'the breaker of crm is open', trail: { spent: 1 } } })
    await close()
  })

  it('is buried as expired when its life ends before', async () => {
    const { app, clock, only, close } = await world(book('ttl: 10s'))
    const crm = dependency()
    crm.up = false
    app.service('mail').on('order.placed', async (_, ctx) => ctx.call('crm', () => crm.call()))
    await app.start()
    await app.publish('order.placed', {})
    await clock.advance(5000)
    expect(only('dead')).toMatchObject([{ reason: 'expired' }])
    await close()
  })
})

describe('the life of an event', () => {
  it('ends by the rules, counted from its time', async () => {
    const { app, clock, only, close } = await world(
      'version: 1\nservices: { mail: { events: { order.placed: { ttl: 1m } } } }\n',
    )
    const seen: unknown[] = []
    app.service('mail').on('order.placed', (event) => void seen.push(event.data.n))
    await app.start()
    const ago = (ms: number) => new Date(clock.now() - ms).toISOString()
    await app.publish('order.placed', { n: 1 }, { time: ago(59_000) })
    await app.publish('order.placed', { n: 2 }, { time: ago(60_000) })
    await clock.advance(100)
    expect(seen).toEqual([1])
    expect(only('dead')).toMatchObject([{ reason: 'expired' }])
    await close()
  })
})

describe("a handler's own breaker", () => {
  it('opens when the handler fails in a row, whatever it calls, and closes after two successes', async () => {
    const { app, clock, only, close } = await world(`version: 1
policies:
  steady: { backoff: fixed, delay: 1s, jitter: none, retries: 50, window: 1h }
services:
  mail: { policy: steady, events: { order.placed: { breaker: handlerBreaker }, order.rated: {} } }
`)
    let broken = true
    let calls = 0
    app.service('mail').on('order.placed', () => {
      calls++
      if (broken) throw new Transient('not today')
    })
    await app.start()
    for (let n = 0; n < 5; n++) await app.publish('order.placed', { n })
    await clock.advance(25_000)
    expect(calls).toBe(5)
    expect(only('breaker')).toMatchObject([{ name: 'mail/order.placed', to: 'open' }])
    broken = false
    await clock.advance(120_000)
    expect(only('done')).toHaveLength(5)
    expect(only('breaker').at(-1)).toMatchObject({ to: 'closed' })
    await close()
  })
})

describe('a retry budget', () => {
  it('bounds the retries that a dependency is sent, and fails nothing', async () => {
    const { app, clock, only, close } = await world(`version: 1
policies:
  eager: { backoff: fixed, delay: 1s, jitter: none, retries: 100, window: 1h }
dependencies:
  crm: { breaker: none, budget: { ratio: 0%, perSecond: 1, burst: 5 } }
services:
  mail: { policy: eager, dependencies: [crm], concurrency: 100, window: 200 }
`)
    const crm = dependency()
    crm.up = false
    app.service('mail').on('order.placed', async (_, ctx) => ctx.call('crm', () => crm.call()))
    await app.start()
    for (let n = 0; n < 50; n++) await app.publish('order.placed', { n })
    await clock.advance(30_000)
    // fifty first calls, five saved up, one a second
    expect(crm.calls).toBeGreaterThan(50)
    expect(crm.calls).toBeLessThanOrEqual(50 + 5 + 31)
    crm.up = true
    await clock.advance(5 * 60_000)
    expect(only('done')).toHaveLength(50)
    expect(only('dead')).toEqual([])
    await close()
  })
})
