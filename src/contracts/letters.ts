import type { ActOnLetters } from '../core/acts.ts'
import type { Category, Kind } from '../core/failure.ts'
import type { Letter } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'

/** open → replaying → resolved | dead again, or open → discarded. */
export type LetterState = 'open' | 'replaying' | 'resolved' | 'dead again' | 'discarded'

export interface KeptLetter {
  readonly letter: Letter
  readonly state: LetterState
  readonly stateAt: Instant
}

export interface LetterFilter {
  readonly ids?: readonly string[]
  readonly service?: string
  readonly topic?: string
  readonly category?: Category
  readonly kind?: Kind
  readonly fingerprint?: string
  readonly states?: readonly LetterState[]
}

export interface LetterMark {
  readonly id: string
  readonly from: readonly LetterState[]
  readonly to: LetterState
  readonly at: Instant
}

/** Where the office keeps dead letters. */
export interface Letters {
  /** Idempotent by letter id; answers how many were new. A letter kept before stays as it is. */
  keep(letters: readonly Letter[]): Promise<number>
  /** Newest first, at most `limit`, after the letter `after` in that order. */
  find(filter: LetterFilter, limit: number, after?: string): Promise<readonly KeptLetter[]>
  count(filter: LetterFilter): Promise<number>
  /**
   * Each mark takes effect only from one of the states it names; answers which did. With an act, the audit has it with
   * those that did, in the same commit; where none did nothing was done, and it has nothing.
   */
  mark(marks: readonly LetterMark[], act?: ActOnLetters): Promise<readonly boolean[]>
}
