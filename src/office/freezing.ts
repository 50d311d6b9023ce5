import { createHash } from 'node:crypto'
import type { KeptOutline, LetterFilter, Letters } from '../contracts/letters.ts'
import type { KeptOperation, NewItem, Operations } from '../contracts/operations.ts'
import type { Act } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import { ITEM_STATES, type Operation, type Skip } from '../core/operation.ts'
import type { Instant } from '../core/time.ts'
import type { Check } from './checks.ts'

/** So many are one commit. */
const PAGE = 1000
/** Of a set up to this size what was put into it is remembered, and need not be read again for its hash. */
const REMEMBERED = 20_000

export interface Freezing {
  readonly letters: Letters
  readonly operations: Operations
  readonly now: () => Instant
  readonly check: Check
  /** More letters than this need approval; absent: none do. */
  readonly approvalAbove?: number | undefined
  /** What the operation is once its set is known, and what the audit is told of it. */
  readonly sealed: (
    kept: KeptOperation,
    state: 'frozen' | 'needs approval',
    hash: string,
    found: FoundIn,
  ) => Sealed
  /** Says that it is still being frozen. */
  readonly stay: () => Promise<unknown>
}

type FoundIn = NonNullable<Operation['found']>

export interface Sealed {
  readonly operation: Operation
  readonly act?: Act | undefined
}

/** Puts what fits now into the set, a page at a time: letters that arrive meanwhile are no part of it. */
export const freeze = async (
  { operation, version }: KeptOperation,
  filter: LetterFilter,
  freezing: Freezing,
): Promise<KeptOperation> => {
  const { operations, letters, now, check, stay } = freezing
  const asked = { operation, approved: freezing.approvalAbove !== 0 }
  const states: Partial<Record<keyof FoundIn, number>> = {}

  /** What was made ready before is kept while the next is made ready. */
  let keeping: Promise<void> = Promise.resolve()
  let put: NewItem[] | undefined = []
  const add = async (places: readonly number[], ids: readonly string[], found: readonly Found[]) => {
    const against = await check(found, asked)
    const at = now()
    for (const kept of found) {
      const state = kept?.state ?? 'unknown'
      states[state] = (states[state] ?? 0) + 1
    }
    const items = ids.map((id, n) => newItem(places[n]!, id, found[n]?.repair?.hash, against[n], at))
    if (put && put.length + items.length > REMEMBERED) put = undefined
    put?.push(...items)
    await keeping
    keeping = keep(items)
    keeping.catch(() => {}) // it is told when its turn comes
  }
  const keep = async (items: readonly NewItem[]): Promise<void> => {
    await stay()
    if (!(await operations.add(operation.id, version, items))) throw taken(operation)
  }

  if (filter.ids) {
    // a letter that fits but for its state is told by that
    const { states: _, ...chosen } = filter
    const found = await named(letters, chosen, filter.ids)
    for (let i = 0; i < found.length; i += PAGE) {
      const ids = found.slice(i, i + PAGE).map(({ id }) => id)
      const known = await byId(letters, { ...chosen, ids })
      await add(
        ids.map((_, n) => i + n + 1),
        ids,
        ids.map((id) => known.get(id)),
      )
    }
  } else {
    // found newest first and worked off oldest first: places are counted backwards
    let place = -1
    let coming = letters.outlines(filter, PAGE)
    for (;;) {
      const page = await coming
      const more = page.length === PAGE
      // looked up while the page before it is kept
      if (more) {
        coming = letters.outlines(filter, PAGE, page.at(-1)!.letter.id)
        coming.catch(() => {}) // it is told when its turn comes
      }
      await add(
        page.map(() => place--),
        page.map(({ letter }) => letter.id),
        page,
      )
      if (!more) break
    }
  }
  await keeping
  return seal(operation.id, version, freezing, states, put)
}

type Found = KeptOutline | undefined

const byId = async (letters: Letters, filter: LetterFilter): Promise<ReadonlyMap<string, KeptOutline>> =>
  new Map((await letters.outlines(filter, PAGE)).map((kept) => [kept.letter.id, kept]))

/** Those that were named, the oldest first; what is not there stands at the end. */
const named = async (letters: Letters, filter: LetterFilter, asked: readonly string[]) => {
  const ids = [...new Set(asked)]
  const found: { readonly id: string; readonly at: Instant }[] = []
  for (let i = 0; i < ids.length; i += PAGE) {
    const some = ids.slice(i, i + PAGE)
    const kept = await byId(letters, { ...filter, ids: some })
    found.push(...some.map((id) => ({ id, at: kept.get(id)?.letter.buriedAt ?? Number.MAX_SAFE_INTEGER })))
  }
  return found.sort((a, b) => a.at - b.at)
}

const newItem = (
  place: number,
  letter: string,
  repair: string | undefined,
  because: Skip | undefined,
  at: Instant,
): NewItem => ({
  place,
  letter,
  ...(repair !== undefined && { repair }),
  state: because === undefined || because === 'needs approval' ? 'waiting' : 'skipped',
  ...(because !== undefined && { because }),
  at,
})

/** From here on the set has a hash: whoever approves it knows what it is. */
const seal = async (
  id: string,
  version: number,
  freezing: Freezing,
  found: FoundIn,
  put: readonly NewItem[] | undefined,
): Promise<KeptOperation> => {
  const { operations, approvalAbove } = freezing
  const kept = (await operations.read(id))!
  const { counts, reasons } = kept
  // as many as were put there: none was passed over, and these are all
  const there = ITEM_STATES.reduce((sum, state) => sum + counts[state], 0)
  const hash = put?.length === there ? hashOf(put) : await hashOfSet(operations, id, freezing.stay)
  const asking = reasons['needs approval'] ?? 0
  const needed =
    asking > 0 || (approvalAbove !== undefined && approvalAbove > 0 && counts.waiting > approvalAbove)
  const { operation, act } = freezing.sealed(kept, needed ? 'needs approval' : 'frozen', hash, found)
  const sealed = await operations.change(operation, version, act)
  if (!sealed) throw taken(operation)
  return sealed
}

/**
 * SHA-256 over the set in order, a line each, read a page at a time: the id of a letter, and behind it the hash of the version
 * it was frozen in, where it was repaired. So it says what is sent, not only of which letters.
 */
export const hashOfSet = async (
  operations: Operations,
  id: string,
  stay: () => Promise<unknown> = async () => undefined,
): Promise<string> => {
  const hash = createHash('sha256')
  for (let after: number | undefined; ; ) {
    const page = await operations.items(id, undefined, PAGE, after)
    for (const item of page) hash.update(lineOf(item))
    if (page.length < PAGE) return hash.digest('hex')
    after = page.at(-1)!.place
    await stay()
  }
}

const hashOf = (items: readonly NewItem[]): string => {
  const hash = createHash('sha256')
  for (const item of items.toSorted((a, b) => a.place - b.place)) hash.update(lineOf(item))
  return hash.digest('hex')
}

const lineOf = ({ letter, repair }: Pick<NewItem, 'letter' | 'repair'>): string =>
  repair === undefined ? `${letter}\n` : `${letter} ${repair}\n`

const taken = ({ id }: Operation): ReprieveError =>
  new ReprieveError('bad_usage', `operation ${id} was cancelled while its set was frozen`, {
    fix: 'begin it again',
  })
