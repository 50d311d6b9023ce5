import type { ActOnLetters } from '../core/acts.ts'
import type { Act } from '../core/audit.ts'
import type { ItemCounts, ItemState, Operation, Skip } from '../core/operation.ts'
import type { Instant } from '../core/time.ts'
import type { LetterState } from './letters.ts'

/** An operation as it is kept. */
export interface KeptOperation {
  readonly operation: Operation
  /** Grows with every change, and when another takes it over; not with what becomes of its items. */
  readonly version: number
  readonly counts: ItemCounts
  /** Those that are skipped or failed, and those that need approval, by reason. */
  readonly reasons: Readonly<Record<string, number>>
  /** Who works on it, and until when it is his. */
  readonly holder?: { readonly name: string; readonly until: Instant }
}

/** One letter of the set, and what became of it. */
export interface Item {
  /** Where it stands in the order of work. Its letter may be gone: it was purged, or never there. */
  readonly place: number
  readonly letter: string
  readonly state: ItemState
  readonly because?: string
  readonly at: Instant
  /** The hash of the version that its letter was frozen in; absent: as it died. */
  readonly repair?: string
}

export interface NewItem extends Omit<Item, 'state'> {
  readonly state: 'waiting' | 'skipped'
  readonly because?: Skip
}

export interface ItemMark {
  readonly place: number
  readonly from: readonly ItemState[]
  readonly to: ItemState
  readonly because?: string
  readonly at: Instant
  /** In the same commit; where the letter is in none of these states, or gone, the item is not changed either. */
  readonly letter?: {
    /** Which one it is, from who knows it: then it need not be looked up. */
    readonly id?: string
    readonly from: readonly LetterState[]
    readonly to: LetterState | 'removed'
  }
}

/**
 * Durable operations, beside the letters: what is done to letters, items, the operation and the audit is one commit.
 *
 * Each letter is held by one live operation at most: the one that it is an item of, not skipped and not failed. When a
 * letter is marked resolved or dead again by `Letters.mark`, its item that is sending or sent is too, in the same commit,
 * also where its operation was cancelled meanwhile.
 */
export interface Operations {
  /** A new one, with no items. With an act, the audit has it in the same commit. */
  begin(operation: Operation, act?: Act): Promise<KeptOperation>
  /**
   * Items to be worked on, or skipped; idempotent by place. One whose letter another live operation holds is kept as
   * skipped: 'in another operation'; one whose letter waits here already is passed over. undefined: the version is
   * another by now, and nothing was done.
   */
  add(id: string, version: number, items: readonly NewItem[]): Promise<KeptOperation | undefined>
  read(id: string): Promise<KeptOperation | undefined>
  /** The newest first, at most `limit`, of those older than `before`. */
  list(filter: OperationFilter, limit: number, before?: string): Promise<readonly KeptOperation[]>
  /**
   * Compare and set: all of the operation but its id is as given from now on. With an act, the audit has it in the same
   * commit. undefined: the version is another by now, or there is no such operation, and nothing was done.
   */
  change(operation: Operation, version: number, act?: Act): Promise<KeptOperation | undefined>
  /**
   * Each mark takes effect only from one of the states it names; answers which did, in order. With an act, the audit has it
   * with the letters of those that did, in the same commit; where none did it has nothing. A letter that is removed is gone with
   * all that was counted of it, and its group with the last. undefined as of `change`; without a version whatever it is, for
   * who tells how something ended that he had begun.
   */
  mark(
    id: string,
    version: number | undefined,
    marks: readonly ItemMark[],
    act?: ActOnLetters,
  ): Promise<readonly boolean[] | undefined>
  /** In order, at most `limit`, after the place `after`. */
  items(
    id: string,
    states: readonly ItemState[] | undefined,
    limit: number,
    after?: number,
  ): Promise<readonly Item[]>
  /** The right to work on it until then: nobody has it, his time is over, or it is `name`'s already. undefined: it is another's. */
  take(id: string, name: string, now: Instant, until: Instant): Promise<KeptOperation | undefined>
}

/** All that is named must fit. */
export interface OperationFilter {
  readonly live?: boolean
  /** The id begins so. */
  readonly beginning?: string
}
