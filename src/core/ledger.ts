import type { Instant, Millis } from './time.ts'

/** Which processing is meant: one event in one service, in one life, at one attempt. */
export interface LedgerKey {
  readonly service: string
  /** The event's id, or whatever the rules make the ledger key of. */
  readonly id: string
  /** Of the payload: the same id with another hash is a conflict, unless either is `REPAIRED`. */
  readonly hash: string
  /** The attempt about to be made, first = 1. */
  readonly attempt: number
  readonly generation: number
  /** How long it is remembered after its end. */
  readonly ttl: Millis
  /** The store whose ledger keeps it, where the rules name another than the app's: then no transport ends such a claim. */
  readonly store?: string
}

/**
 * Stands for the hash of a payload that an operator repaired: its id is known with another one, and he vouches for it. What
 * was done stays done. A hash that is known is kept, so that strangers with this id still meet a conflict later.
 */
export const REPAIRED = '*'

export const isSamePayload = (known: string, hash: string): boolean =>
  known === hash || known === REPAIRED || hash === REPAIRED

/** The right to process, under a token that only grows. */
export interface Held {
  readonly key: LedgerKey
  readonly token: number
}

export type Claim =
  | { readonly is: 'fresh'; readonly held: Held; readonly crashes: number } // crashes > 0: a suspect, to be run alone
  | { readonly is: 'busy'; readonly until: Instant } // someone holds it: come back, spend nothing
  | { readonly is: 'done' } // its effect has happened
  | { readonly is: 'stale' } // this attempt, or this life, was already spent
  | { readonly is: 'conflict' } // known with another payload

/** What a transport that keeps claims itself holds by this one; undefined where it is not its own. */
export const heldHere = (claim: Claim | undefined): Held | undefined =>
  claim?.is === 'fresh' && claim.held.key.store === undefined ? claim.held : undefined

/** done: never again · spent: this attempt is used up · free: not used up, to be claimed again · dead: buried */
export type Ending = 'done' | 'spent' | 'free' | 'dead'

/** What a ledger keeps of one key. */
export interface LedgerRow {
  readonly hash: string
  readonly state: 'claimed' | 'free' | 'done' | 'dead'
  readonly generation: number
  /** claimed: the attempt under way; else the last one spent. */
  readonly attempt: number
  readonly token: number
  /** claimed: when the claim runs out; else when the row may be forgotten. */
  readonly until: Instant
  /** How often a process died that had claimed it. 0: beyond suspicion. */
  readonly crashes: number
  /** Under the current token, and of a suspect only: it was run, not just claimed. */
  readonly begun: boolean
}

/**
 * What a claim on a row answers, and the row to keep where it changes.
 *
 *   row                              answer
 *   none, or free and forgotten      fresh
 *   another hash                     conflict, unless the payload was repaired
 *   done                             done, replays included: dedup protects them too
 *   of an older generation           fresh, whatever that life's state
 *   of a newer generation, or dead   stale
 *   free, attempt ≤ the last spent   stale
 *   free, attempt > the last spent   fresh, as suspect as it was
 *   claimed, newer attempt           stale
 *   claimed, older attempt           fresh: the copy that carries this attempt proves that one settled
 *   claimed, same attempt            busy until its time is over; then fresh, and a process died that had it:
 *     beyond suspicion               with its first crash. It may only have waited: all that were claimed are suspects
 *     a suspect that was begun       with one more crash. It was alone: nobody else can have been the cause
 *     a suspect, not begun           with as many as before: it died of another
 *
 * To tell who was begun costs a write, which only suspects pay.
 */
export const claimRow = (
  row: LedgerRow | undefined,
  key: LedgerKey,
  now: Instant,
  until: Instant,
): { readonly claim: Claim; readonly row?: LedgerRow } => {
  const fresh = (crashes: number) => {
    const token = (row?.token ?? 0) + 1
    const { generation, attempt } = key
    const hash = key.hash === REPAIRED ? (row?.hash ?? REPAIRED) : key.hash
    return {
      claim: { is: 'fresh', held: { key, token }, crashes } as const,
      row: { hash, state: 'claimed', generation, attempt, token, until, crashes, begun: false } as const,
    }
  }
  if (!row || (row.state !== 'claimed' && row.until <= now)) return fresh(0)
  if (!isSamePayload(row.hash, key.hash)) return { claim: { is: 'conflict' } }
  if (row.state === 'done') return { claim: { is: 'done' } }
  if (row.generation < key.generation) return fresh(0)
  if (row.generation > key.generation || row.state === 'dead') return { claim: { is: 'stale' } }
  if (row.state === 'free')
    return row.attempt >= key.attempt ? { claim: { is: 'stale' } } : fresh(row.crashes)
  if (row.attempt > key.attempt) return { claim: { is: 'stale' } }
  if (row.attempt < key.attempt) return fresh(0)
  if (row.until > now) return { claim: { is: 'busy', until: row.until } }
  return fresh(row.crashes === 0 || row.begun ? row.crashes + 1 : row.crashes)
}

/** The row of a suspect that is about to be run; undefined where the token is no longer the current one. */
export const beginRow = (row: LedgerRow | undefined, { token }: Held): LedgerRow | undefined =>
  row && row.token === token && row.state === 'claimed' ? { ...row, begun: true } : undefined

/**
 * So many claims beyond its attempts an event may have, and whoever comes back is believed. One that blocks its process for
 * longer than the lease comes back each time, from one process to the next: it must have an end as well.
 */
export const BELIEVED = 20

/**
 * The row after a holder came back that had been taken for dead, because it stood still for longer than its claim: what
 * was counted is taken back. undefined: nothing was counted for it. Once only, and only by one who was claimed
 * beyond suspicion or begun: nobody else's end is counted.
 */
export const acquitRow = (row: LedgerRow | undefined, { key, token }: Held): LedgerRow | undefined => {
  if (!row || row.generation !== key.generation || row.crashes === 0) return undefined
  if (row.token <= token || row.token > key.attempt + BELIEVED) return undefined
  if (row.state !== 'claimed' && row.state !== 'free') return undefined
  const attempt = row.state === 'claimed' ? row.attempt : row.attempt + 1
  return attempt === key.attempt ? { ...row, crashes: row.crashes - 1 } : undefined
}

/**
 * The row after its claim ended; undefined where the token is no longer the current one. Whoever came to an
 * end of its own is cleared of suspicion; one that is freed is not: nobody can be sure that it has run.
 */
export const finishRow = (
  row: LedgerRow | undefined,
  { key, token }: Held,
  as: Ending,
  now: Instant,
): LedgerRow | undefined => {
  if (!row || row.token !== token || row.state !== 'claimed') return undefined
  return {
    ...row,
    state: as === 'spent' ? 'free' : as,
    attempt: as === 'free' ? key.attempt - 1 : key.attempt,
    until: now + key.ttl,
    crashes: as === 'free' ? row.crashes : 0,
  }
}

/**
 * The row after this claim ended, for stores whose own statement makes sure that it is the current one: of the crashes, which are
 * not known then, 1 stands for as many as there are.
 */
export const endedRow = (held: Held, as: Ending, now: Instant): LedgerRow => {
  const { hash, generation, attempt } = held.key
  const claimed = { hash, state: 'claimed', generation, attempt, token: held.token } as const
  return finishRow({ ...claimed, until: 0, crashes: 1, begun: false }, held, as, now)!
}

/**
 * Marks an effect as done in the commit that holds it, whatever the row was: whoever commits first has done it, and a claim
 * that another still holds is then no longer the current one. 'done' and 'conflict' are answers as `claimRow` gives them.
 */
export const markRow = (
  row: LedgerRow | undefined,
  key: LedgerKey,
  now: Instant,
): LedgerRow | 'done' | 'conflict' => {
  if (row && (row.state === 'claimed' || row.until > now)) {
    if (!isSamePayload(row.hash, key.hash)) return 'conflict'
    if (row.state === 'done') return 'done'
  }
  const { hash, generation, attempt, ttl } = key
  const token = (row?.token ?? 0) + 1
  return { hash, state: 'done', generation, attempt, token, until: now + ttl, crashes: 0, begun: false }
}

/** How a settlement ends the claim of its delivery: one given back, or put off with no attempt spent, is free. */
export const endingOf = (
  settlement: {
    readonly do: 'ack' | 'later' | 'bury' | 'give back'
    readonly parcel?: { readonly trail: Spent }
  },
  before: Spent,
): Ending => {
  if (settlement.do === 'ack') return 'done'
  if (settlement.do === 'bury') return 'dead'
  return (settlement.parcel?.trail.spent ?? 0) > before.spent ? 'spent' : 'free'
}

interface Spent {
  readonly spent: number
}
