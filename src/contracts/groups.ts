import type { Act } from '../core/audit.ts'
import type { Category, Kind } from '../core/failure.ts'
import type { Letter, LetterState } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'

/** What an operator says of a group. */
export interface Tending {
  readonly owner?: string
  readonly note?: string
  readonly ticket?: string
  /** It need not be looked at before. */
  readonly snoozedUntil?: Instant
}

/** Letters with one fingerprint. */
export interface KeptGroup extends Tending {
  readonly fingerprint: string
  /** Of the letters that are kept, by their burial. */
  readonly firstAt: Instant
  readonly lastAt: Instant
  /** The id of the newest letter, and the beginning of its error. */
  readonly sample: string
  readonly error: string
  /** When an operator said something of it last: from then on it is not new. */
  readonly tendedAt?: Instant
  /** A letter that died after all were at an end, and some of them resolved: it came back. */
  readonly regressedAt?: Instant
}

/** How many letters are alike in all of this. */
export interface Tally {
  readonly fingerprint: string
  readonly service: string
  readonly topic: string
  readonly type: string
  readonly category: Category
  readonly kind: Kind
  readonly code?: string
  readonly state: LetterState
  readonly count: number
}

/** How many letters of a group were buried in the five minutes (`SLOT`) from `at` on. */
export interface Arrivals {
  readonly fingerprint: string
  readonly at: Instant
  readonly count: number
}

/** How many letters ever arrived that are alike in this: only ever more, whatever became of them. */
export interface Deaths {
  readonly service: string
  readonly topic: string
  readonly type: string
  readonly letters: number
  /** How often their events were tried again before they died, together. */
  readonly retries: number
}

/**
 * What is kept about groups, changed in the same commit as the letters: to read it costs as many rows as there are
 * groups, however many letters they have.
 */
export interface Groups {
  /** Those whose fingerprint begins so, and not like `except`; the one with the newest letter first. */
  list(beginning: string, most: number, except?: string): Promise<readonly KeptGroup[]>
  /** Of one group, or of all. */
  tallies(fingerprint?: string): Promise<readonly Tally[]>
  /** From the slot of that moment on. Slots older than two days may be forgotten. */
  arrivals(from: Instant, fingerprint?: string): Promise<readonly Arrivals[]>
  /** Counted in the commit that keeps letters, each once; those that are brought (`Desk.bring`) did not die here. */
  deaths(): Promise<readonly Deaths[]>
  /** When the oldest letter in one of these states was buried. */
  oldest(states: readonly LetterState[], service?: string): Promise<Instant | undefined>
  /**
   * Says something anew; what is not named stays, and null takes it away. With an act, the audit has it in the same
   * commit. False: there is no such group, and nothing was done.
   */
  tend(fingerprint: string, tending: Retending, at: Instant, act?: Act): Promise<boolean>
  /**
   * Moves some letters of a group to those that `anew` names; nothing else of them changes, and what was said of the
   * old group is said of the new one too. Answers how many were moved; with the last of them the old group is gone.
   */
  regroup(fingerprint: string, anew: (letter: Letter) => string, most: number): Promise<number>
}

export type Retending = { readonly [Name in keyof Tending]?: Tending[Name] | null }
