import type { Ledger } from '../contracts/ledger.ts'
import type { Inlet, Settled, Settlement, Transport } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'

/** Where a fault can be put. */
export type Point =
  | 'publish'
  | 'subscribe'
  | 'forward'
  | 'receive'
  | 'settle'
  | 'extend'
  | 'claim'
  | 'begin'
  | 'renew'
  | 'acquit'
  | 'finish'

/**
 *   ok            no fault
 *   fails         nothing is done, and it is told so
 *   answer lost   it is done, and yet it is told as failed: what a connection that breaks looks like
 *   lost          of `settle` alone: the delivery was taken from us, and goes to the next who asks
 */
export type Fault = 'ok' | 'fails' | 'answer lost' | 'lost'

/** Faults by plan, for a transport and a ledger that are wrapped with them. */
export interface Faults {
  /** What becomes of the next calls, one after the other. After them all is well again. */
  plan(point: Point, ...faults: readonly Fault[]): void
  /** From now on, until `mend`. A function is asked for each call: by dice, for instance. */
  down(point: Point, fault?: Fault | (() => Fault)): void
  /** All is well again, at one point or at all. */
  mend(point?: Point): void
  /** The next fault of this point. Using it up is the wrapper's business. */
  next(point: Point): Fault
  /** Faults that happened so far, by point. */
  count(point: Point): number
}

export const createFaults = (): Faults => {
  const planned = new Map<Point, Fault[]>()
  const down = new Map<Point, Fault | (() => Fault)>()
  const counts = new Map<Point, number>()

  const upcoming = (point: Point): Fault => {
    const first = planned.get(point)?.shift()
    if (first !== undefined) return first
    const lasting = down.get(point)
    return typeof lasting === 'function' ? lasting() : (lasting ?? 'ok')
  }
  return {
    plan: (point, ...faults) => void planned.set(point, [...(planned.get(point) ?? []), ...faults]),
    down: (point, fault = 'fails') => void down.set(point, fault),
    mend: (point) => {
      for (const each of [planned, down]) {
        if (point === undefined) each.clear()
        else each.delete(point)
      }
    },
    next: (point) => {
      const fault = upcoming(point)
      if (fault !== 'ok') counts.set(point, (counts.get(point) ?? 0) + 1)
      return fault
    },
    count: (point) => counts.get(point) ?? 0,
  }
}

const broken = (point: Point): ReprieveError =>
  new ReprieveError('unavailable', `${point}: failing on purpose`)

const at = async <T>(faults: Faults, point: Point, go: () => Promise<T>): Promise<T> => {
  const fault = faults.next(point)
  if (fault === 'ok') return go()
  if (fault === 'answer lost') await go()
  throw broken(point)
}

/** The transport with faults in its way. What `collect` hands over, for the office, has none. */
export const faultyTransport = (transport: Transport, faults: Faults): Transport => ({
  ...transport,
  publish: (topic, events) => at(faults, 'publish', () => transport.publish(topic, events)),
  forward: (to, parcels) => at(faults, 'forward', () => transport.forward(to, parcels)),
  subscribe: async (to) => faultyInlet(await at(faults, 'subscribe', () => transport.subscribe(to)), faults),
})

const faultyInlet = (inlet: Inlet, faults: Faults): Inlet => ({
  ...inlet,
  receive: async (max, signal, except) => {
    // an answer that is lost would be deliveries that nobody holds: here it is as if nothing had been taken
    if (faults.next('receive') !== 'ok') throw broken('receive')
    return inlet.receive(max, signal, except)
  },
  extend: (deliveries, until) => at(faults, 'extend', () => inlet.extend(deliveries, until)),
  settle: async (batch) => {
    const fates = batch.map((): Fault => faults.next('settle'))
    const answers = await inlet.settle(
      batch.flatMap((settlement, i) => {
        if (fates[i] === 'fails') return []
        return [fates[i] === 'lost' ? takenFrom(settlement) : settlement]
      }),
    )
    let taken = 0
    return fates.map((fate): Settled => {
      if (fate === 'fails') return broken('settle')
      const answer = answers[taken++]!
      if (fate === 'lost') return 'lost'
      return fate === 'answer lost' ? broken('settle') : answer
    })
  },
})

const takenFrom = ({ delivery }: Settlement): Settlement => ({ do: 'give back', delivery })

export const faultyLedger = (ledger: Ledger, faults: Faults): Ledger => ({
  claim: (keys, until) => at(faults, 'claim', () => ledger.claim(keys, until)),
  begin: (held) => at(faults, 'begin', () => ledger.begin(held)),
  renew: (held, until) => at(faults, 'renew', () => ledger.renew(held, until)),
  acquit: (held) => at(faults, 'acquit', () => ledger.acquit(held)),
  finish: (ends) => at(faults, 'finish', () => ledger.finish(ends)),
})
