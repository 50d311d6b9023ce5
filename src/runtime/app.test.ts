import { expect, it } from 'vitest'
import { open } from '../adapters/memory/index.ts'
import type { Inlet, Transport } from '../contracts/transport.ts'
import type { Tx } from '../contracts/tx.ts'
import { freshParcel } from '../core/parcel.ts'
import { readRules } from '../rules/index.ts'
import { testTools } from '../testing/tools.ts'
import { type App, createApp } from './app.ts'

const never = <T>(): Promise<T> => new Promise(() => {})

interface Given {
  readonly yaml?: string
  readonly tx?: Tx
  /** What stands between the app and its transport. */
  readonly around?: (own: Transport) => Partial<Transport>
  readonly inlet?: (own: Inlet) => Partial<Inlet>
}

const stage = async ({ yaml = 'version: 1', tx, around = () => ({}), inlet = () => ({}) }: Given = {}) => {
  const tools = testTools()
  const opened = await open('memory:', tools)
  const own = opened.transport!
  let receiving = 0
  const looked: Transport = {
    ...own,
    subscribe: async (to) => {
      const given = await own.subscribe(to)
      return {
        ...given,
        receive: async (max, signal, except) => {
          receiving++
          try {
            return await given.receive(max, signal, except)
          } finally {
            receiving--
          }
        },
        ...inlet(given),
      }
    },
  }
  const app = createApp({
    book: readRules(yaml, 'rules.yaml'),
    transport: { ...looked, ...around(looked) },
    store: opened.store!,
    tools,
    tx,
  })
  return { app, ...tools, receiving: () => receiving }
}

const twoServices = (app: App): void => {
  app.service('one').on('asked', () => {})
  app.service('two').on('asked', () => {})
}

it('a drain during the start stops what runs and what is being started, and starts no more', async () => {
  const subscribed: string[] = []
  const door = Promise.withResolvers<void>()
  const { app, clock, facts, receiving } = await stage({
    around: (own) => ({
      subscribe: async (to) => {
        subscribed.push(to.service)
        if (to.service === 'two') await door.promise
        return own.subscribe(to)
      },
    }),
  })
  twoServices(app)
  app.service('three').on('asked', () => {})
  const start = app.start()
  const refused = expect(start).rejects.toMatchObject({ code: 'closed' })
  await clock.advance(10)
  expect(receiving()).toBe(1)
  const drained = app.drain()
  await clock.advance(10)
  expect(receiving()).toBe(0)
  door.resolve()
  await clock.runUntil(drained)
  await refused
  expect(subscribed).toEqual(['one', 'two'])
  expect(receiving()).toBe(0)
  const ends = facts.flatMap((fact) =>
    fact.is === 'started' || fact.is === 'drained' ? [`${fact.service} ${fact.is}`] : [],
  )
  expect(ends).toEqual(['one started', 'one drained', 'two started', 'two drained'])
  await expect(app.start()).rejects.toMatchObject({ code: 'bad_usage' })
})

it('what begins only when the drain has given up waiting for it is ended all the same', async () => {
  const door = Promise.withResolvers<void>()
  const { app, clock, facts, receiving } = await stage({
    around: (own) => ({
      subscribe: async (to) => {
        await door.promise
        return own.subscribe(to)
      },
    }),
  })
  twoServices(app)
  const refused = expect(app.start()).rejects.toMatchObject({ code: 'closed' })
  await clock.advance(10)
  const began = clock.now()
  await clock.runUntil(app.drain(500))
  expect(clock.now() - began).toBeLessThanOrEqual(1000)
  door.resolve()
  await clock.runUntil(refused)
  expect(receiving()).toBe(0)
  expect(facts.filter(({ is }) => is === 'started' || is === 'drained')).toHaveLength(2)
})

it('a broker that is slow to say how much waits delays no stop', async () => {
  const asked: string[] = []
  const { app, clock, facts } = await stage({
    yaml: 'version: 1\ndefaults: { alerts: { lag: { above: 10 } } }',
    inlet: () => ({
      lag: () => {
        asked.push('lag')
        return never()
      },
    }),
  })
  twoServices(app)
  await clock.runUntil(app.start())
  await clock.advance(70_000)
  expect(asked).not.toEqual([])
  const began = clock.now()
  const drained = app.drain(5000)
  await clock.advance(10)
  expect(facts.filter(({ is }) => is === 'drained')).toHaveLength(2)
  await clock.runUntil(drained)
  expect(clock.now() - began).toBeLessThanOrEqual(6000)
})

it('an outbox that never answers delays no stop beyond its time', async () => {
  const tx = { name: 'theirs', outbox: { relay: never } } as unknown as Tx
  const { app, clock } = await stage({ tx })
  twoServices(app)
  await clock.runUntil(app.start())
  const began = clock.now()
  await clock.runUntil(app.drain(2000))
  expect(clock.now() - began).toBeLessThanOrEqual(4000)
})

it('what is drained waits for nothing more: a process could not end before', async () => {
  const { app, clock } = await stage()
  twoServices(app)
  await clock.runUntil(app.start())
  await clock.runUntil(app.drain(2000))
  expect(clock.sleepers).toBe(0)
})

it('a service without a handler is told of: it would run and do nothing', async () => {
  const { app, facts } = await stage()
  app.service('idle')
  app.service('busy').on('asked', () => {})
  await app.start()
  const notices = facts.flatMap((fact) => (fact.is === 'notice' ? [fact.text] : []))
  expect(notices).toEqual([expect.stringMatching(/^idle has no handler and takes no event/)])
  await app.drain(0)
})

it('a service without a name is refused: it would be called undefined', async () => {
  const { app } = await stage()
  for (const name of [undefined, null, 5, {}])
    expect(() => app.service(name as never)).toThrow(expect.objectContaining({ code: 'bad_handlers' }))
})

it('a transport that always has more at once leaves the event loop its turns', async () => {
  const event = { id: 'e', source: 's', type: 'asked', extensions: {}, headers: {}, data: null }
  let gulps = 0
  const { app, clock } = await stage({
    inlet: () => ({
      prompt: true,
      receive: async () =>
        ++gulps > 1000 ? never() : [{ parcel: freshParcel(event, 0), redelivered: false }],
      settle: async (batch) => batch.map(() => 'done'),
    }),
  })
  app.service('one').on('asked', () => {})
  await clock.runUntil(app.start())
  const before = gulps
  await new Promise((resolve) => setImmediate(resolve))
  expect(gulps - before).toBeGreaterThan(1)
  expect(gulps - before).toBeLessThan(100)
  await clock.runUntil(app.drain(0))
})
