import type { Millis } from '../../core/time.ts'
import type { Chance } from './chance.ts'

/**
 * What may go wrong at each step.
 *
 *   fails          nothing happens, and the caller is told
 *   answer lost    it happens, and the caller is told that it failed
 *   crash before   the process dies, and nothing happened
 *   crash after    it happens, and the process dies before it hears of it
 *   stall          it happens, and the process stands still for longer than its leases last
 *   cut            a connection is lost: the broker takes back what is out, and the holder does not know
 *   double         the broker hands the parcel over once more, as a copy
 */
export type Fault = 'fails' | 'answer lost' | 'crash before' | 'crash after' | 'stall' | 'cut' | 'double'

export interface Weather {
  /** The longest that a call is on its way. */
  readonly latency: Millis
  /** How likely each fault is at one step. */
  readonly likely: ReadonlyMap<Fault, number>
  /** How many processes may die in all. */
  readonly crashes: number
  /** Processes that are asked to leave, and come back, as in a deploy. */
  readonly deploys: number
  readonly calm: boolean
}

type Faults = readonly [Fault, ...Fault[]]
const LEASED: Faults = ['fails', 'answer lost', 'crash before', 'crash after', 'stall', 'double']
const FAULTS: Faults = [...LEASED, 'cut']

/** Some seeds are calm, so that nothing excuses a fault of ours; some know one fault only, the rest know all. */
export const weatherOf = (chance: Chance, connected: boolean): Weather => {
  const faults = connected ? FAULTS : LEASED
  const kind = chance.pick(['calm', 'double', 'one', 'one', 'all', 'all', 'all'])
  const latency = chance.pick([0, 3, 20, 100])
  const level = chance.pick([0.01, 0.03, 0.08, 0.15])
  const own = (fault: Fault): number => (isCrash(fault) || fault === 'stall' ? level / 3 : level)
  const likely = new Map<Fault, number>()
  if (kind === 'double') likely.set('double', 0.2)
  if (kind === 'one') {
    const fault = chance.pick(faults)
    likely.set(fault, own(fault))
  }
  if (kind === 'all') for (const fault of faults) if (chance.happens(0.6)) likely.set(fault, own(fault) / 2)
  const calm = kind === 'calm' || kind === 'double'
  return {
    latency,
    likely,
    crashes: chance.int(1, 5),
    deploys: calm ? 0 : chance.pick([0, 0, 1, 2]),
    calm,
  }
}

export const isCrash = (fault: Fault | undefined): boolean =>
  fault === 'crash before' || fault === 'crash after'

/** At most one at a step. */
export const faultAt = ({ likely }: Weather, chance: Chance): Fault | undefined => {
  if (likely.size === 0) return undefined
  let lot = chance.next()
  for (const [fault, share] of likely) {
    if (lot < share) return fault
    lot -= share
  }
  return undefined
}
