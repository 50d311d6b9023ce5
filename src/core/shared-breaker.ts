import type { BreakerRules } from './breaker-rules.ts'
import type { Instant, Millis } from './time.ts'

/**
 * How a breaker stands over all processes that use it. Each has its own, which opens at once by its own evidence; this one
 * opens all of them, and so it needs the evidence of several. Plain JSON, kept as one entry of the board.
 *
 *   closed      trip × quorum → open
 *   open        take, when its time is over → half-open · trip, when its time is over → open again
 *   half-open   success × enough → closed · failure, trip → open
 *
 * `round` counts how often it closed: who opened in an earlier round closes with it.
 */
export type Shared = SharedClosed | SharedOpen | SharedHalfOpen

interface Standing {
  readonly round: number
  readonly since: Instant
  /** Processes that opened by their own evidence, and until when that counts. */
  readonly trips: readonly Trip[]
}

interface SharedClosed extends Standing {
  readonly is: 'closed'
}

interface SharedOpen extends Standing {
  readonly is: 'open'
  readonly until: Instant
}

interface SharedHalfOpen extends Standing {
  readonly is: 'half-open'
  readonly leases: readonly Lease[]
  readonly successes: number
}

export interface Trip {
  readonly process: string
  readonly at: Instant
  readonly until: Instant
}

/** The right to one probe. Who dies with it loses it when its time is over. */
export interface Lease {
  readonly id: string
  readonly until: Instant
}

/**
 *   trip               a process opened by its own evidence, until then
 *   well               it closed by its own evidence
 *   take, let go       a lease for one probe: wanted; not used, or it said nothing
 *   success, failure   how a probe under a lease ended; until when a failure opens it
 */
export type SharedSignal =
  | { readonly is: 'trip'; readonly process: string; readonly until: Instant }
  | { readonly is: 'well'; readonly process: string }
  | { readonly is: 'take' | 'let go' | 'success'; readonly lease: string }
  | { readonly is: 'failure'; readonly lease: string; readonly until: Instant }

export const freshShared = (now: Instant): Shared => ({ is: 'closed', round: 0, since: now, trips: [] })

/** One bad process can't open all, where there are more: it needs another. */
const QUORUM = 2

/** Of so many processes this many must have tripped. */
export const quorumOf = ({ quorum = QUORUM }: Pick<BreakerRules, 'quorum'>, processes: number): number =>
  Math.max(1, Math.min(quorum, processes))

/** Whoever asked for one hears of it, is told to come again and is put off by a coarse clock, and must still find it. */
const SHORTEST_LEASE: Millis = 3000

export const leaseOf = ({ probeLease, open }: BreakerRules): Millis =>
  Math.max(probeLease ?? open, SHORTEST_LEASE)

/** Pure, and never throws. Where nothing changes it answers with the same state. `processes`: how many use it. */
export const share = (
  rules: BreakerRules,
  shared: Shared,
  signal: SharedSignal,
  now: Instant,
  processes: number,
): Shared => {
  switch (signal.is) {
    case 'trip':
      return afterTrip(rules, shared, signal, now, processes)
    case 'well':
      return afterWell(shared, signal.process, now)
    case 'take':
      return afterTake(rules, shared, signal.lease, now)
    case 'let go':
      return holds(shared, signal.lease) ? without(shared, signal.lease) : shared
    case 'success':
      return afterSuccess(rules, shared, signal.lease, now)
    case 'failure':
      return holds(shared, signal.lease) ? opened(shared, signal.until, now) : shared
  }
}

export const hasLease = (shared: Shared, lease: string): boolean => holds(shared, lease)

/** Whether it is open and its time is over, or it is half-open: whoever has a lease may try. */
export const isDue = (shared: Shared, now: Instant): boolean =>
  shared.is === 'half-open' || (shared.is === 'open' && shared.until <= now)

const afterTrip = (
  rules: BreakerRules,
  shared: Shared,
  { process, until }: { readonly process: string; readonly until: Instant },
  now: Instant,
  processes: number,
): Shared => {
  // its evidence holds until it has tried again, and that has ended
  const trip = { process, at: now, until: until + leaseOf(rules) }
  const trips = [...standing(shared, now).filter((each) => each.process !== process), trip]
  const next = { ...shared, trips }
  if (shared.is !== 'closed') return isDue(shared, now) ? opened(next, until, now) : next
  return trips.length >= quorumOf(rules, processes) ? opened(next, until, now) : next
}

const afterWell = (shared: Shared, process: string, now: Instant): Shared => {
  if (isDue(shared, now)) return closed(shared, now)
  const trips = shared.trips.filter((trip) => trip.process !== process)
  return trips.length === shared.trips.length ? shared : { ...shared, trips }
}

const afterTake = (rules: BreakerRules, shared: Shared, lease: string, now: Instant): Shared => {
  if (shared.is === 'closed' || !isDue(shared, now)) return shared
  const { round, since, trips } = shared
  const before: SharedHalfOpen =
    shared.is === 'half-open'
      ? shared
      : { is: 'half-open', round, since: now, trips, leases: [], successes: 0 }
  const lasts = leaseOf(rules)
  // nobody holds one longer than it lasts, though a clock was put back
  const out = before.leases.filter(({ until }) => until > now && until <= now + lasts)
  if (out.length >= rules.probes) return shared
  return {
    ...before,
    since: before === shared ? since : now,
    leases: [...out, { id: lease, until: now + lasts }],
  }
}

const afterSuccess = (rules: BreakerRules, shared: Shared, lease: string, now: Instant): Shared => {
  if (!holds(shared, lease)) return shared
  const successes = shared.successes + 1
  return successes >= rules.successes ? closed(shared, now) : { ...without(shared, lease), successes }
}

const standing = ({ trips }: Shared, now: Instant): readonly Trip[] =>
  trips.filter(({ until }) => until > now)

const holds = (shared: Shared, lease: string): shared is SharedHalfOpen =>
  shared.is === 'half-open' && shared.leases.some(({ id }) => id === lease)

const without = (shared: SharedHalfOpen, lease: string): SharedHalfOpen => ({
  ...shared,
  leases: shared.leases.filter(({ id }) => id !== lease),
})

const opened = ({ round, trips }: Shared, until: Instant, now: Instant): SharedOpen => ({
  is: 'open',
  round,
  since: now,
  until,
  trips,
})

const closed = ({ round }: Shared, now: Instant): SharedClosed => ({
  is: 'closed',
  round: round + 1,
  since: now,
  trips: [],
})
