import type { Json } from './json.ts'
import type { Lease, Shared, Trip } from './shared-breaker.ts'
import type { Millis } from './time.ts'

/** What processes share of breakers and budgets, as entries of the board. */

export const SHARED = 'breaker/'
export const BUDGETS = 'budget/'
export const SHARES = 'share/'

export const sharedEntry = (name: string): string => `${SHARED}${name}`
/** Who posts it first begins with what a budget saves up; all others begin with nothing. */
export const budgetEntry = (name: string): string => `${BUDGETS}${name}`
export const shareEntry = (name: string, process: string): string => `${SHARES}${process}/${name}`

/** What a process says of itself holds so long, and is renewed well before: one that isn't is of a process that is gone. */
export const HEARTBEAT_LASTS: Millis = 15_000
export const HEARTBEAT_EVERY: Millis = 5000

/** As a process says that it has a share of a budget. */
export const readShare = (value: Json): string | undefined => {
  const { name } = isRecord(value) ? value : {}
  return typeof name === 'string' ? name : undefined
}

/** Entries may be anybody's: what is not of the right shape says nothing. */
export const readShared = (value: Json): Shared | undefined => {
  if (!isRecord(value)) return undefined
  const { is, round, since, until, trips, leases, successes } = value
  if (typeof round !== 'number' || typeof since !== 'number' || !Array.isArray(trips)) return undefined
  const standing = { round, since, trips: trips.flatMap(readTrip) }
  if (is === 'closed') return { is, ...standing }
  if (is === 'open' && typeof until === 'number') return { is, ...standing, until }
  if (is === 'half-open' && Array.isArray(leases) && typeof successes === 'number') {
    return { is, ...standing, leases: leases.flatMap(readLease), successes }
  }
  return undefined
}

const readTrip = (value: Json): readonly Trip[] => {
  const { process, at, until } = isRecord(value) ? value : {}
  return typeof process === 'string' && typeof at === 'number' && typeof until === 'number'
    ? [{ process, at, until }]
    : []
}

const readLease = (value: Json): readonly Lease[] => {
  const { id, until } = isRecord(value) ? value : {}
  return typeof id === 'string' && typeof until === 'number' ? [{ id, until }] : []
}

const isRecord = (value: Json): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
