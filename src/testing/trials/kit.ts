import assert from 'node:assert/strict'
import type { Opened } from '../../contracts/adapter.ts'
import type {
  Delivery,
  Inlet,
  Settled,
  Settlement,
  Subscription,
  Transport,
} from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { Millis } from '../../core/time.ts'
import { iso } from '../../core/time.ts'
import type { Trial, TrialWorld } from './trial.ts'

export const transportTrial = (name: string, run: Trial['run'], needs?: Trial['needs']): Trial => ({
  name,
  about: 'transport',
  run,
  ...(needs && { needs }),
})

/** Long enough to see that nothing comes. */
export const A_WHILE = 300

export const makeEvent = (world: TrialWorld, over: Partial<Event> = {}): Event => ({
  id: world.tools.dice.uuid(),
  source: 'reprieve/trials',
  type: 'trial.made',
  time: iso(world.now()),
  datacontenttype: 'application/json',
  extensions: {},
  headers: {},
  data: Buffer.from('{"trial":true}'),
  ...over,
})

export const makeEvents = (world: TrialWorld, count: number, over: Partial<Event> = {}): readonly Event[] =>
  Array.from({ length: count }, (_, n) => makeEvent(world, { data: Buffer.from(`{"n":${n}}`), ...over }))

export const makeSubscription = (world: TrialWorld, over: Partial<Subscription> = {}): Subscription => {
  const service = over.service ?? world.name('service')
  return {
    service,
    topic: world.name('topic'),
    consumerGroup: service,
    types: ['*'],
    order: 'none',
    lease: 30_000,
    window: 500,
    destinations: [{ name: `_${service}.deadletter` }, { name: `_${service}.quarantine` }],
    ...over,
  }
}

export interface Desk {
  readonly opened: Opened
  readonly transport: Transport
  readonly to: Subscription
  readonly inlet: Inlet
}

/** A connection with one subscription: where most trials begin. */
export const subscribed = async (world: TrialWorld, over: Partial<Subscription> = {}): Promise<Desk> => {
  const opened = await world.open()
  const to = makeSubscription(world, over)
  return deskAt(opened, to)
}

/** Another process's inlet to the same subscription. */
export const subscribedToo = async (world: TrialWorld, to: Subscription): Promise<Desk> => {
  const opened = await world.open()
  return deskAt(opened, to)
}

/** Trials of transports are only run where there is one. */
const deskAt = async (opened: Opened, to: Subscription): Promise<Desk> => {
  const transport = opened.transport!
  return { opened, transport, to, inlet: await transport.subscribe(to) }
}

export interface Taking {
  readonly max?: number
  readonly within?: Millis
  readonly except?: ReadonlySet<string>
}

/** What comes first, or nothing when the time is over. */
export const takeSome = async (
  world: TrialWorld,
  inlet: Inlet,
  { max = 1, within = world.patience, except }: Taking = {},
): Promise<readonly Delivery[]> => {
  const stop = new AbortController()
  const receiving = inlet.receive(max, stop.signal, except)
  await world.wait(within, receiving)
  stop.abort()
  return receiving
}

/** Exactly as many as must come. */
export const take = async (world: TrialWorld, inlet: Inlet, count: number): Promise<readonly Delivery[]> => {
  const got: Delivery[] = []
  const deadline = world.now() + world.patience
  while (got.length < count && world.now() < deadline) {
    got.push(...(await takeSome(world, inlet, { max: count - got.length, within: deadline - world.now() })))
  }
  assert.equal(got.length, count, `${got.length} of ${count} deliveries came within ${world.patience} ms`)
  return got
}

export const takeOne = async (world: TrialWorld, inlet: Inlet): Promise<Delivery> =>
  (await take(world, inlet, 1))[0]!

/** One delivery to whoever of these gets it, and who that is. */
export const takeFromAny = async (
  world: TrialWorld,
  inlets: readonly Inlet[],
): Promise<{ readonly at: number; readonly delivery: Delivery }> => {
  const stop = new AbortController()
  const receiving = inlets.map((inlet) => inlet.receive(1, stop.signal))
  await world.wait(world.patience, Promise.race(receiving))
  stop.abort()
  const got = await Promise.all(receiving)
  const at = got.findIndex((deliveries) => deliveries.length > 0)
  assert.ok(at >= 0, `nothing came within ${world.patience} ms`)
  assert.equal(got.flat().length, 1, 'one event was handed to two consumers at once')
  return { at, delivery: got[at]![0]! }
}

export const takeNone = async (world: TrialWorld, inlet: Inlet, within: Millis = A_WHILE): Promise<void> => {
  const got = await takeSome(world, inlet, { max: 10, within })
  assert.deepEqual(idsOf(got), [], 'something came where nothing should')
}

export const idsOf = (deliveries: readonly Delivery[]): readonly string[] =>
  deliveries.map(({ parcel }) => parcel.event.id)

export const sorted = (ids: readonly string[]): readonly string[] => [...ids].sort()

export const ackAll = async (inlet: Inlet, deliveries: readonly Delivery[]): Promise<void> =>
  settleAll(
    inlet,
    deliveries.map((delivery) => ({ do: 'ack', delivery })),
  )

export const settleAll = async (inlet: Inlet, batch: readonly Settlement[]): Promise<void> =>
  allDone(await inlet.settle(batch), batch.length)

export const allDone = (answers: readonly Settled[], count: number): void =>
  assert.deepEqual(answers, new Array(count).fill('done'))

/** Polls until it holds; for what a broker counts in its own time. */
export const eventually = async (
  world: TrialWorld,
  look: () => Promise<unknown>,
  wanted: unknown,
): Promise<void> => {
  const deadline = world.now() + Math.min(world.patience, 10_000)
  let seen = await look()
  while (JSON.stringify(seen) !== JSON.stringify(wanted) && world.now() < deadline) {
    await world.wait(50)
    seen = await look()
  }
  assert.deepEqual(seen, wanted)
}

export const rejectsWith = async (code: string, promise: Promise<unknown>): Promise<void> => {
  await assert.rejects(promise, (error: unknown) => {
    assert.equal((error as { code?: unknown }).code, code, `rejected with ${String(error)}`)
    return true
  })
}
