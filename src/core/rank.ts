import type { Priority } from './event.ts'
import { bestMatch } from './pattern.ts'

/** Who goes before whom at a door: urgent ones before all, and fresh ones before what was tried before. */
export type Rank = 'urgent' | 'fresh' | 'retry'

export const isUrgent = (priority: Priority | undefined): boolean =>
  priority === 'high' || priority === 'critical'

/** The types, exact or with a trailing `*`, whose events are urgent unless they say better, and those whose are not. */
export interface Urgency {
  readonly types: readonly string[]
  readonly others: readonly string[]
}

/** The most exact name counts. Without any, no type is. */
export const urgentTypes = (urgency: Urgency | undefined): ((type: string) => boolean) => {
  if (!urgency) return () => false
  const { types, others } = urgency
  return (type) => {
    const best = bestMatch([...types, ...others], type)
    return best !== undefined && types.includes(best)
  }
}

/** What an event's rank is made of: its own priority counts before what its type has. */
export interface Ranked {
  readonly type: string
  readonly priority: Priority | undefined
  /** Attempts spent in this life. */
  readonly spent: number
}

export const rankOf = ({ type, priority, spent }: Ranked, isUrgentType: (type: string) => boolean): Rank => {
  if (priority === undefined ? isUrgentType(type) : isUrgent(priority)) return 'urgent'
  return spent > 0 ? 'retry' : 'fresh'
}

/** Of so many turns one is a retry's, while fresh ones are ready too. */
export const TURNS = 5

/** So many of these may retries have meanwhile. */
export const shareOf = (width: number): number => Math.max(1, Math.floor(width / TURNS))

/** What came before, at one door. */
export interface Turns {
  readonly window: number
  /** Retries that are out. */
  readonly retrying: number
  /** Fresh ones handed over since the last retry, as far as they count. */
  readonly passed: number
}

/**
 * Takes at most `room`: urgent ones first; of the rest a fifth are retries while fresh ones are ready, and no more than a fifth of
 * the window is out of them. What fresh ones leave free, retries fill. Where there is room for few at a time, their turns are counted:
 * so neither waits for the other to run dry, however much of it there is.
 */
export const takeInTurn = <T>(
  room: number,
  { window, retrying, passed }: Turns,
  take: (rank: Rank, most: number) => readonly T[],
): { readonly taken: readonly T[]; readonly passed: number } => {
  const urgent = take('urgent', room)
  const left = room - urgent.length
  if (left === 0) return { taken: urgent, passed }
  const most = Math.max(0, Math.min(Math.floor((passed + left) / TURNS), shareOf(window) - retrying))
  const some = most > 0 ? take('retry', most) : []
  const fresh = some.length < left ? take('fresh', left - some.length) : []
  const free = left - some.length - fresh.length
  const more = free > 0 && some.length === most ? take('retry', free) : []
  const retries = some.length + more.length
  return {
    taken: retries + urgent.length === 0 ? fresh : [...urgent, ...fresh, ...some, ...more],
    passed: Math.max(0, Math.min(TURNS - 1, passed + fresh.length - (TURNS - 1) * retries)),
  }
}
