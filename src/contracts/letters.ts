import type { ActOnLetters } from '../core/acts.ts'
import type { Category, Kind } from '../core/failure.ts'
import type { Letter, LetterState } from '../core/letter.ts'
import type { Outline, Sendable } from '../core/outline.ts'
import type { Repair } from '../core/repair.ts'
import type { Sifting } from '../core/sift.ts'
import type { Instant } from '../core/time.ts'
import type { Desk } from './desk.ts'
import type { Groups } from './groups.ts'

export type { LetterState }

export interface KeptLetter {
  readonly letter: Letter
  readonly state: LetterState
  readonly stateAt: Instant
  /** The newest version of its event, where it was repaired: that is what a replay sends. */
  readonly repair?: Repair
}

/** What is asked before a letter is sent. */
export interface KeptOutline {
  readonly letter: Outline
  readonly state: LetterState
  /** Of one that was repaired: which version would be sent. */
  readonly repair?: Pick<Repair, 'hash'>
}

/** What goes when it is sent. */
export interface KeptSendable {
  readonly letter: Sendable
  readonly state: LetterState
  readonly repair?: Repair
}

/** All that is named must fit. */
export interface LetterFilter extends Sifting {
  readonly ids?: readonly string[]
  /** The id begins so. */
  readonly beginning?: string
  readonly service?: string
  readonly topic?: string
  /** Of the event. */
  readonly type?: string
  readonly category?: Category
  readonly kind?: Kind
  readonly code?: string
  readonly fingerprint?: string
  readonly states?: readonly LetterState[]
  /** Buried then or later. */
  readonly from?: Instant
  /** Buried before. */
  readonly to?: Instant
}

export interface LetterMark {
  readonly id: string
  readonly from: readonly LetterState[]
  readonly to: LetterState
  readonly at: Instant
}

/** How many there are; where it is not `whole`, there are at least so many. */
export interface Counted {
  readonly count: number
  readonly whole: boolean
}

/** Where the office keeps dead letters. */
export interface Letters {
  /** Idempotent by letter id; answers how many were new. A letter kept before stays as it is. */
  keep(letters: readonly Letter[]): Promise<number>
  /** Newest first, at most `limit`, after the letter `after` in that order. */
  find(filter: LetterFilter, limit: number, after?: string): Promise<readonly KeptLetter[]>
  /** As `find`, and of each letter its outline at least: of a million that are looked at none need be read whole. */
  outlines(filter: LetterFilter, limit: number, after?: string): Promise<readonly KeptOutline[]>
  /** Those of these ids that are there, in no order, as they would be sent now. */
  sendables(ids: readonly string[]): Promise<readonly KeptSendable[]>
  count(filter: LetterFilter): Promise<number>
  /** Exact where kept tallies tell it; else it counts no further than `most`, and looks at a few times as many at most. */
  countUpTo(filter: LetterFilter, most: number): Promise<Counted>
  /**
   * Each mark takes effect only from one of the states it names; answers which did. With an act, the audit has it with
   * those that did, in the same commit; where none did nothing was done, and it has nothing.
   */
  mark(marks: readonly LetterMark[], act?: ActOnLetters): Promise<readonly boolean[]>
  readonly groups: Groups
  /** Absent: letters kept here can be marked, and nothing else. */
  readonly desk?: Desk
}
