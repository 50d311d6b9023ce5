import type { Inlet } from '../../contracts/transport.ts'
import { type Desk, idsOf, makeEvents } from './kit.ts'
import type { TrialWorld } from './trial.ts'

export interface WorkedOff {
  /** How often each event was settled. */
  readonly settled: ReadonlyMap<string, number>
  /** How many each consumer settled. */
  readonly by: readonly number[]
}

/** Consumers take and acknowledge until so many events are settled. */
export const workOff = async (
  world: TrialWorld,
  inlets: readonly Inlet[],
  count: number,
): Promise<WorkedOff> => {
  const settled = new Map<string, number>()
  const by = inlets.map(() => 0)
  const stop = new AbortController()
  const all = Promise.withResolvers<void>()
  const work = async (inlet: Inlet, who: number) => {
    while (!stop.signal.aborted) {
      const some = await inlet.receive(7, stop.signal)
      const answers = await inlet.settle(some.map((delivery) => ({ do: 'ack', delivery })))
      idsOf(some).forEach((id, n) => {
        if (answers[n] !== 'done') return
        settled.set(id, (settled.get(id) ?? 0) + 1)
        by[who]!++
      })
      if (settled.size >= count) all.resolve()
    }
  }
  const working = Promise.all(inlets.map(work))
  await world.wait(world.patience, Promise.race([all.promise, working]))
  await world.wait(200)
  stop.abort()
  await working
  return { settled, by }
}

/**
 * Where deliveries go by ownership, a consumer that joins takes over what others own, and what is out there
 * goes with it. So before a trial looks at who gets what, all of them must own something.
 */
export const untilShared = async (world: TrialWorld, desks: readonly Desk[]): Promise<void> => {
  const { transport, to } = desks[0]!
  if (transport.can.order !== 'owner') return
  const inlets = desks.map(({ inlet }) => inlet)
  for (const start = world.now(); world.now() - start < 10_000; ) {
    const working = workOff(world, inlets, 12)
    await transport.publish(to.topic, makeEvents(world, 12))
    const { by } = await working
    if (by.every((count) => count > 0)) return
  }
}
