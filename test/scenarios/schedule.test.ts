import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { reprieve, Transient } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { testApp } from '../../src/testing/index.ts'
import { testTools } from '../../src/testing/tools.ts'

const world = async (count: number) => {
  const tools = testTools()
  const transport = `memory:${randomUUID()}`
  const apps = []
  for (let n = 0; n < count; n++) apps.push(await reprieve({ transport, ...tools, office: false }))
  const ran: string[] = []
  return { ...tools, apps, ran }
}

const HOUR = 3_600_000

describe('a job on a schedule', () => {
  it('is run by one of three processes, each time', async () => {
    const { apps, clock, ran, facts } = await world(3)
    let out = 0
    for (const [n, app] of apps.entries()) {
      app.every('1h', 'report', async () => {
        expect(++out).toBe(1)
        ran.push(`${n}`)
        await clock.sleep(5 * 60_000)
        out--
      })
      await app.start()
    }
    await clock.advance(HOUR - 1000)
    expect(ran).toEqual([])
    await clock.advance(24 * HOUR)
    expect(ran).toHaveLength(24)
    expect(facts.filter(({ is }) => is === 'job')).toHaveLength(24)
    for (const app of apps) await clock.runUntil(app.close())
  })

  it('goes on in another process, within a lease, when the one that ran it dies', async () => {
    const { apps, clock, ran } = await world(2)
    const { promise: never } = Promise.withResolvers<void>()
    const began: number[] = []
    for (const [n, app] of apps.entries()) {
      app.every('1h', 'report', async () => {
        began.push(clock.now())
        ran.push(`${n}`)
        if (began.length > 1) return
        // a process that is killed says nothing any more: its board neither
        dead[n] = true
        await never
      })
    }
    const dead = [false, false]
    for (const [n, app] of apps.entries()) {
      const { board } = app.store
      const { post } = board
      Object.assign(board, {
        post: (...args: Parameters<typeof post>) => (dead[n] ? new Promise(() => {}) : post(...args)),
      })
      await app.start()
    }
    await clock.advance(HOUR + 60_000)
    expect(ran).toHaveLength(2)
    expect(new Set(ran).size).toBe(2)
    expect(began[1]! - began[0]!).toBeLessThanOrEqual(41_000)
  })

  it('that fails is told, and comes again at its time', async () => {
    const { apps, clock, facts } = await world(1)
    let runs = 0
    apps[0]!.every('1m', 'report', () => {
      runs++
      throw new Error('no paper')
    })
    await apps[0]!.start()
    await clock.advance(5 * 60_000 + 2000)
    expect(runs).toBe(5)
    const troubles = facts.filter(({ is }) => is === 'trouble')
    expect(troubles).toHaveLength(5)
    expect(troubles[0]).toMatchObject({ where: 'the job report', error: { message: 'no paper' } })
    await clock.runUntil(apps[0]!.close())
  })

  it('is cut short when its process drains, and left to another', async () => {
    const { apps, clock, ran } = await world(2)
    for (const [n, app] of apps.entries()) {
      app.every('1h', 'report', async ({ signal }) => {
        ran.push(`${n}`)
        if (ran.length > 1) return
        await clock.sleep(HOUR, signal)
        signal.throwIfAborted()
      })
      await app.start()
    }
    await clock.advance(HOUR + 2000)
    expect(ran).toHaveLength(1)
    await clock.runUntil(apps[Number(ran[0])]!.close())
    await clock.advance(15_000)
    expect(ran).toHaveLength(2)
    expect(ran[1]).not.toBe(ran[0])
    await clock.runUntil(apps[Number(ran[1])]!.close())
  })

  it('has one name and a period that can be kept', async () => {
    const { apps } = await world(1)
    apps[0]!.every('1h', 'report', () => {})
    expect(() => apps[0]!.every('2h', 'report', () => {})).toThrow("two jobs are called 'report'")
    expect(() => apps[0]!.every('10ms', 'other', () => {})).toThrow('once a second at most')
    expect(() => apps[0]!.every('often', 'third', () => {})).toThrow('expected a duration')
    await apps[0]!.close()
  })
})

describe('scheduled recovery', () => {
  const YAML = `version: 1
policies: { brief: { backoff: fixed, delay: 1s, jitter: none, retries: 1 } }
defaults: { policy: brief }
`
  const outage = async (more: string, options = {}) => {
    const app = await testApp({ yaml: `${YAML}${more}`, ...options })
    const at = { up: false, calls: 0 }
    app.service('mail').on('order.placed', (event) => {
      at.calls++
      if (event.data.wrong) throw new TypeError('never right')
      if (!at.up) throw new Transient('crm is down')
    })
    await app.publish('order.placed', { wrong: true })
    for (let n = 0; n < 3; n++) await app.publish('order.placed', { n })
    await app.clock.advance(60_000)
    return { app, at }
  }

  it('is off unless it is asked for', async () => {
    const { app, at } = await outage('')
    const { calls } = at
    await app.clock.advance(24 * HOUR)
    expect(at.calls).toBe(calls)
    await app.close()
  })

  it.for([
    ['the rules', 'recovery: { every: 1h }\n', {}],
    ['an option', '', { recovery: true }],
  ] as const)(
    'by %s sends letters of transient failures back each hour, and no others',
    async ([, more, options]) => {
      const { app, at } = await outage(more, options)
      at.up = true
      await app.clock.advance(HOUR)
      const letters = await app.office.list({}, 10)
      expect(letters.map(({ state }) => state).sort()).toEqual(['open', 'resolved', 'resolved', 'resolved'])
      expect(letters.find(({ state }) => state === 'open')!.letter.category).toBe('unknown')
      await app.close()
    },
  )

  it('leaves an event alone that it sent back three times', async () => {
    const { app, at } = await outage('recovery: { every: 1h }\n')
    const { calls } = at
    await app.clock.advance(24 * HOUR)
    // three events, two attempts each, three times over
    expect(at.calls - calls).toBe(3 * 2 * 3)
    expect(await app.office.count({ states: ['open'], category: 'transient' })).toBe(3)
    await app.close()
  })

  it('sends at most so many at a time, the oldest first', async () => {
    const { app, at } = await outage('recovery: { every: 1h, most: 2 }\n')
    at.up = true
    await app.clock.advance(HOUR)
    expect(await app.office.count({ states: ['resolved'] })).toBe(2)
    await app.clock.advance(HOUR)
    expect(await app.office.count({ states: ['resolved'] })).toBe(3)
    await app.close()
  })

  it.for([
    ['attempts exhausted', ['a']],
    ['window exhausted', ['w']],
    ['attempts exhausted, window exhausted', ['a', 'w']],
  ] as const)('by the reason of their death: %s', async ([reasons, sent]) => {
    const yaml = `version: 1
operations: { approval: always, canary: { size: 1 }, rate: 1 }
recovery: { every: 1h, reasons: [${reasons}] }
policies:
  brief: { backoff: fixed, delay: 1s, jitter: none, retries: 1 }
  short: { backoff: fixed, delay: 1m, jitter: none, retries: 9, window: 30s }
services: { mail: { events: { order.placed: { policy: brief }, order.moved: { policy: short } } } }
`
    await using app = await testApp({ yaml })
    let up = false
    const handled: string[] = []
    const handle = ({ id }: { id: string }) => {
      if (!up) throw new Transient('crm is down')
      handled.push(id)
    }
    app.service('mail').on('order.placed', handle).on('order.moved', handle)
    await app.publish('order.placed', {}, { id: 'a' })
    await app.publish('order.moved', {}, { id: 'w' })
    await app.clock.advance(5 * 60_000)
    const died = (await app.office.list({}, 9)).map(({ letter }) => [letter.event.id, letter.reason])
    expect(Object.fromEntries(died)).toEqual({ a: 'attempts exhausted', w: 'window exhausted' })
    up = true
    await app.clock.advance(HOUR)
    // the book asked for it: nobody need approve, and no canary goes first
    expect(handled.sort()).toEqual(sent)
  })

  it('off in the options comes before the book', async () => {
    const { app, at } = await outage('recovery: { every: 1h }\n', { recovery: false })
    const { calls } = at
    await app.clock.advance(3 * HOUR)
    expect(at.calls).toBe(calls)
    await app.close()
    expect(readRules('version: 1\nrecovery: off\n', 'reprieve.yaml').recovery).toBeUndefined()
  })
})
