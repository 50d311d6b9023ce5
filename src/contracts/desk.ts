import type { ActOnLetters } from '../core/acts.ts'
import type { Letter, LetterState } from '../core/letter.ts'
import type { Repair } from '../core/repair.ts'
import type { Instant } from '../core/time.ts'

/**
 * What is done to kept letters besides marking them. Each takes the act it is part of: the audit has it with those it
 * took effect on, in the same commit; where it took effect on none the audit has nothing. Answers which did, one each.
 */
export interface Desk {
  /**
   * Keeps a version beside each letter, which itself is never changed. Only where the letter is in one of the states
   * named, and its newest version is the one just before: of two that repair at once, one wins.
   */
  repair(repairs: readonly NewRepair[], act: ActOnLetters): Promise<readonly boolean[]>
  /** All versions of a letter but the letter itself, the oldest first. */
  versions(id: string): Promise<readonly Repair[]>
  /**
   * Removes letters that are in one of these states, with their versions. Tallies, arrivals and groups are then what
   * they would be without them; a group without letters is gone.
   */
  remove(ids: readonly string[], from: readonly LetterState[], act: ActOnLetters): Promise<readonly boolean[]>
  /**
   * Keeps letters with the state and the versions they bring. Idempotent by letter id: one kept before stays as it is. They
   * are in tallies, arrivals and groups as if they had died here, but no deaths are counted: those were elsewhere, or
   * were counted here before, and are no news. Nor does a group come back by them.
   */
  bring(letters: readonly Brought[], act: ActOnLetters): Promise<readonly boolean[]>
}

export interface NewRepair {
  readonly id: string
  readonly from: readonly LetterState[]
  readonly repair: Repair
}

export interface Brought {
  readonly letter: Letter
  readonly state: LetterState
  readonly stateAt: Instant
  /** By version, from 1 on. */
  readonly repairs: readonly Repair[]
}
