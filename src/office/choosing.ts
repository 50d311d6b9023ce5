import type { KeptSendable, Letters } from '../contracts/letters.ts'
import type { Item, ItemMark, KeptOperation, Operations } from '../contracts/operations.ts'
import type { Clock } from '../contracts/tools.ts'
import type { Instant } from '../core/time.ts'
import type { Check, createChecks } from './checks.ts'

/** One letter on its way, with its item. */
export interface Leaving {
  readonly item: Item
  readonly kept: KeptSendable
}

export interface Chosen {
  readonly skips: readonly ItemMark[]
  readonly leaving: readonly Leaving[]
  readonly at: Instant
  /** The place of the last that was looked at; absent: there was none. */
  readonly last?: number
}

export const NONE: Chosen = { skips: [], leaving: [], at: 0 }

/** For so long it holds which breakers are open. */
const FRESH = 500

/** Which letters of an operation have their turn. */
export const createChoosing = (
  operations: Operations,
  letters: Letters,
  checks: ReturnType<typeof createChecks>,
  clock: Clock,
) => {
  /** The next ones in order, and what speaks against some of them by now. */
  const choose = async ({ operation }: KeptOperation, most: number, after?: number): Promise<Chosen> => {
    const items = await operations.items(operation.id, ['waiting'], most, after)
    if (items.length === 0) return NONE
    const found = await lettersOf(items)
    const check = await checksNow()
    const against = await check(
      items.map(({ letter }) => found.get(letter)),
      { operation, approved: true },
    )
    const at = clock.now()
    const skips = items.flatMap((item, i): ItemMark[] =>
      against[i] === undefined
        ? []
        : [{ place: item.place, from: ['waiting'], to: 'skipped', because: against[i], at }],
    )
    const leaving = items.flatMap((item, i): Leaving[] =>
      against[i] === undefined ? [{ item, kept: found.get(item.letter)! }] : [],
    )
    return { skips, leaving, at, last: items.at(-1)!.place }
  }

  /** What is open is looked at once for the batches of a moment. */
  let looked: { readonly at: Instant; readonly check: Promise<Check> } | undefined
  const checksNow = (): Promise<Check> => {
    const now = clock.now()
    if (!looked || now - looked.at > FRESH || now < looked.at) looked = { at: now, check: checks() }
    return looked.check
  }

  const lettersOf = async (items: readonly Item[]): Promise<ReadonlyMap<string, KeptSendable>> => {
    const ids = items.map(({ letter }) => letter)
    return new Map((await letters.sendables(ids)).map((kept) => [kept.letter.id, kept]))
  }

  return { choose, lettersOf }
}
