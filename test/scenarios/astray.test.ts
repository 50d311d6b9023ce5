import { describe, expect, it } from 'vitest'
import { open } from '../../src/adapters/memory/index.ts'
import type { Delivery, Inlet, Transport } from '../../src/contracts/transport.ts'
import { decodeData, type Event } from '../../src/core/event.ts'
import { Transient } from '../../src/index.ts'
import { createOffice } from '../../src/office/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { type App, createApp } from '../../src/runtime/app.ts'
import { testApp } from '../../src/testing/index.ts'
import { testTools } from '../../src/testing/tools.ts'
import { withoutClaims } from '../../src/testing/without-claims.ts'

const TYPE = 'todo.task.created'
const LEASE = 60_000
/** Rows of their own, so that rules are asked for on the way in as well. */
const RULES = `
version: 1
defaults: { policy: standard, lease: 60s }
services:
  mail-svc: { events: { ${TYPE}: { priority: high } } }
`

/** An event that throws when it is looked at, where `throws` says so. */
const trapped = (event: Event, throws: (name: string | symbol) => boolean): Event =>
  new Proxy(event, {
    get: (target, name) => {
      if (throws(name)) throw new Error(`a look at ${String(name)}`)
      return Reflect.get(target, name)
    },
  })

/** One that throws the n-th time it is looked at, once. */
const trappedAt = (event: Event, nth: number): Event => {
  let looks = 0
  return trapped(event, () => looks++ === nth)
}

const withTrap = (
  transport: Transport,
  which: (delivery: Delivery) => boolean,
  trap: (event: Event) => Event,
): Transport => ({
  ...transport,
  subscribe: async (to) => {
    const inlet = await transport.subscribe(to)
    const originals = new WeakMap<Delivery, Delivery>()
    const original = (delivery: Delivery) => originals.get(delivery) ?? delivery
    const wrapped: Inlet = {
      ...inlet,
      receive: async (...asked) =>
        (await inlet.receive(...asked)).map((delivery) => {
          if (!which(delivery)) return delivery
          const event = trap(delivery.parcel.event)
          const copy = { ...delivery, parcel: { ...delivery.parcel, event } }
          originals.set(copy, delivery)
          return copy
        }),
      settle: (batch) => inlet.settle(batch.map((each) => ({ ...each, delivery: original(each.delivery) }))),
      extend: (deliveries, until) => inlet.extend(deliveries.map(original), until),
    }
    return wrapped
  },
})

describe('a throw that nobody foresaw, on the way of one event', () => {
  it.each([
    ['with its own claims', (transport: Transport) => transport],
    ['whose ledger stands apart', withoutClaims],
  ])('strands neither it nor those beside it, on a transport %s', async (_, as) => {
    let thrown = 0
    for (let nth = 0; nth < 16; nth++) {
      const tools = testTools()
      const { clock, facts } = tools
      let count = 0
      const opened = await open('memory:', tools)
      const { companion: _, ...store } = opened.store!
      const app = createApp({
        book: readRules(RULES, 'test.yaml'),
        // the first delivery of the second event
        transport: withTrap(
          as(opened.transport!),
          () => count++ === 1,
          (event) => trappedAt(event, nth),
        ),
        store: { ...store, letters: store.letters!, audit: store.audit!, operations: store.operations! },
        tools,
      })
      const done = new Set<unknown>()
      app.service('mail-svc').on(TYPE, ({ data }) => void done.add((data as { n: number }).n))
      await clock.runUntil(app.start())
      await Promise.all([0, 1, 2, 3].map((n) => app.publish(TYPE, { n })))
      await clock.advance(LEASE / 4)
      expect([nth, [...done].sort()]).toEqual([nth, [0, 1, 2, 3]])
      const told = facts.filter(({ is }) => is === 'trouble' || is === 'failed')
      thrown += told.length
      expect(facts.filter(({ is }) => is === 'done')).toHaveLength(4)
      await clock.runUntil(app.drain())
    }
    expect(thrown).toBeGreaterThan(3)
  })

  it('makes a failure of a reply or an error that throws when it is looked at', async () => {
    await using app = await testApp({ yaml: 'version: 1\ndefaults: { policy: none }' })
    const no = () => {
      throw new TypeError('hands off')
    }
    const proxies = [
      new Proxy({}, { has: no }),
      new Proxy({}, { get: no }),
      new Proxy({}, { getPrototypeOf: no, get: () => undefined }),
      new Proxy(new Error('x'), { get: no }),
      new Proxy({}, { getPrototypeOf: no, get: no, has: no }),
    ]
    app.service('mail-svc').on(TYPE, ({ data }) => {
      const { n, as } = data as { n: number; as: string }
      if (as === 'thrown') throw proxies[n]
      return (as === 'rejected' ? Promise.reject(proxies[n]) : proxies[n]) as never
    })
    app.service('mail-svc').on('plain', () => {})
    app.service('sets-svc').onBatch('together', (events) => {
      return events.map(({ data }) => proxies[(data as { n: number }).n]) as never
    })
    for (const n of proxies.keys()) {
      for (const as of ['returned', 'thrown', 'rejected']) await app.publish(TYPE, { n, as })
      await app.publish('plain', {})
      await app.publish('together', { n })
    }
    await app.settled({ most: 10_000 })
    expect(app.facts.filter(({ is }) => is === 'trouble')).toEqual([])
    expect(app.facts.filter((fact) => fact.is === 'done' && fact.type === 'plain')).toHaveLength(5)
    const dead = app.facts.filter(({ is }) => is === 'dead').length
    const fine = app.facts.filter((fact) => fact.is === 'done' && fact.type !== 'plain').length
    expect(dead + fine).toBe(20)
    expect(dead).toBeGreaterThanOrEqual(12)
  })

  it('on the way out gives the event back, and it is tried again', async () => {
    const tools = testTools()
    const { clock, dice, facts } = tools
    let rolls = 0
    const loaded = {
      ...dice,
      next: () => {
        if (rolls++ === 0) throw new Error('the dice are gone')
        return dice.next()
      },
    }
    const opened = await open('memory:', tools)
    const { companion: _, ...store } = opened.store!
    const app = createApp({
      book: readRules(RULES, 'test.yaml'),
      transport: withoutClaims(opened.transport!),
      store: { ...store, letters: store.letters!, audit: store.audit!, operations: store.operations! },
      tools: { ...tools, dice: loaded },
    })
    let tries = 0
    app.service('mail-svc').on(TYPE, async () => {
      if (++tries === 1) throw new Transient('not yet')
    })
    await clock.runUntil(app.start())
    await app.publish(TYPE, {})
    rolls = 0
    await clock.advance(LEASE / 4)
    expect(tries).toBe(2)
    expect(facts.find(({ is }) => is === 'trouble')).toMatchObject({
      where: 'the walk of an event of mail-svc',
      error: { message: 'the dice are gone' },
      about: { type: TYPE },
    })
    await clock.runUntil(app.drain())
  })

  describe.each([
    ['with its own claims', (transport: Transport) => transport],
    ['whose ledger stands apart', withoutClaims],
  ])('each time, on a transport %s', (_, as) => {
    /** What is thrown is not the handler's: it fails, and what should follow can't be worked out. */
    const world = async () => {
      const tools = testTools()
      const opened = await open('memory:', tools)
      const { companion: _, ...kept } = opened.store!
      const store = { ...kept, letters: kept.letters!, audit: kept.audit!, operations: kept.operations! }
      const transport = as(opened.transport!)
      const next = () => {
        throw new RangeError('the dice are gone')
      }
      const runs: unknown[] = []
      const life = async () => {
        const app = createApp({
          book: readRules(RULES, 'test.yaml'),
          transport,
          store,
          tools: { ...tools, dice: { ...tools.dice, next } },
        })
        app.service('mail-svc').on(TYPE, ({ data }) => {
          const { n } = data as { n: number }
          runs.push(n)
          if (n === 1) throw new Transient('not yet')
        })
        await tools.clock.runUntil(app.start())
        return app
      }
      const letters = async (app: App) => {
        const office = await createOffice({ transport, store, tools })
        await tools.clock.runUntil(office.catchUp(app.destinations(), new AbortController().signal))
        return office.list()
      }
      return { ...tools, life, runs, letters }
    }

    it('it is tried as often as an unknown failure, then buried with what was thrown', async () => {
      const { clock, facts, life, runs, letters } = await world()
      const app = await life()
      await Promise.all([0, 1, 2].map((n) => app.publish(TYPE, { n })))
      await clock.advance(60 * LEASE)
      expect(runs.toSorted()).toEqual([0, 1, 1, 1, 2])
      expect(facts.filter(({ is }) => is === 'trouble')).toHaveLength(3)
      expect(facts.filter(({ is }) => is === 'done')).toHaveLength(2)
      expect(await letters(app)).toMatchObject([
        {
          state: 'open',
          letter: {
            error: 'the dice are gone',
            reason: 'attempts exhausted',
            category: 'unknown',
            trail: { spent: 3, records: [{ name: 'RangeError' }, {}, {}] },
          },
        },
      ])
      await clock.runUntil(app.drain())
    })

    it('and who takes over goes on with what was counted', async () => {
      const { clock, facts, life, runs, letters } = await world()
      const first = await life()
      await first.publish(TYPE, { n: 1 })
      await clock.advance(0)
      await clock.runUntil(first.drain())
      expect(runs).toEqual([1])
      const second = await life()
      await clock.advance(60 * LEASE)
      expect(runs).toEqual([1, 1, 1])
      expect(facts.flatMap((fact) => (fact.is === 'failed' ? fact.attempt : []))).toEqual([1, 2, 3])
      expect(await letters(second)).toHaveLength(1)
      await clock.runUntil(second.drain())
    })

    it('what can not even be buried comes back after pauses that grow, and holds up nobody', async () => {
      const tools = testTools()
      const { clock, facts } = tools
      const opened = await open('memory:', tools)
      const { companion: _, ...store } = opened.store!
      const isTrapped = ({ parcel: { event } }: Delivery) => decodeData(event) === 1
      const app = createApp({
        book: readRules(RULES, 'test.yaml'),
        transport: withTrap(as(opened.transport!), isTrapped, (event) =>
          trapped(event, (name) => name === 'type'),
        ),
        store: { ...store, letters: store.letters!, audit: store.audit!, operations: store.operations! },
        tools,
      })
      const done: unknown[] = []
      app.service('mail-svc').on(TYPE, ({ data }) => void done.push(data))
      await clock.runUntil(app.start())
      for (const n of [0, 1, 2]) await app.publish(TYPE, n)
      await clock.advance(60 * LEASE)
      expect(done).toEqual([0, 2])
      const pauses = facts.flatMap((fact) => (fact.is === 'trouble' ? fact.retryIn! / 1000 : []))
      expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
      expect(pauses.length).toBeLessThan(80)
      await clock.runUntil(app.drain())
    })
  })
})
