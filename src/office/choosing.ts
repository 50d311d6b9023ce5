import type { KeptSendable, Letters } from '../contracts/letters.ts'
import type { Item, ItemMark, KeptOperation, Operations } from '../contracts/operations.ts'
import type { Clock } from '../contracts/tools.ts'
import type { Operation } from '../core/operation.ts'
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

interface Reached {
  readonly version: number
  readonly place: number
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
  /** How far each operation was worked off: what is before that need not be read again to find what waits. */
  const reached = new Map<string, Reached>()
  const reach = ({ operation: { id }, version }: KeptOperation, { last }: Chosen): void => {
    if (last !== undefined) reached.set(id, { version, place: last })
  }
  /** Some before that wait again. */
  const forget = ({ id }: Operation): void => void reached.delete(id)

  /** The first that wait. What could not be marked in its turn waits still, before the place that was reached, and comes last. */
  const waiting = async ({ operation: { id }, version }: KeptOperation, most: number) => {
    const known = reached.get(id)
    if (known?.version === version) {
      const next = await operations.items(id, ['waiting'], most, known.place)
      if (next.length > 0) return next
    }
    reached.delete(id)
    return operations.items(id, ['waiting'], most)
  }

  /** The next ones in order, and what speaks against some of them by now. */
  const choose = async (kept: KeptOperation, most: number, after?: number): Promise<Chosen> => {
    const { operation } = kept
    const items =
      after === undefined
        ? await waiting(kept, most)
        : await operations.items(operation.id, ['waiting'], most, after)
    const last = items.at(-1)
    if (!last) return NONE
    const found = await lettersOf(items)
    const check = await checksNow()
    const against = await check(
      items.map(({ letter }) => found.get(letter)),
      { operation, approved: true },
    )
    const at = clock.now()
    const skips: ItemMark[] = []
    const leaving: Leaving[] = []
    for (const [i, item] of items.entries()) {
      const kept = found.get(item.letter)
      const because = against[i] ?? (isAsFrozen(item, kept) ? undefined : 'changed since')
      if (because === undefined) leaving.push({ item, kept: kept! })
      else skips.push({ place: item.place, from: ['waiting'], to: 'skipped', because, at })
    }
    return { skips, leaving, at, last: last.place }
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

  /** One that was marked may have been repaired at that very moment: what is sent again is what was sent, if it was. */
  const lettersAsFrozen = async (items: readonly Item[]): Promise<ReadonlyMap<string, KeptSendable>> => {
    const found = new Map(await lettersOf(items))
    for (const item of items) {
      const kept = found.get(item.letter)
      if (!kept || isAsFrozen(item, kept)) continue
      const { repair: _, ...asItDied } = kept
      const versions = item.repair === undefined ? [] : ((await letters.desk?.versions(item.letter)) ?? [])
      const repair = versions.find(({ hash }) => hash === item.repair)
      found.set(item.letter, repair ? { ...asItDied, repair } : asItDied)
    }
    return found
  }

  return { choose, reach, forget, lettersAsFrozen }
}

/** What was looked at, and approved where the rules ask, is what goes: a repair since then needs a look of its own. */
const isAsFrozen = ({ repair }: Item, kept: KeptSendable | undefined): boolean =>
  kept?.repair?.hash === repair
