import type { LetterMark, LetterState } from '../../contracts/letters.ts'
import type { ItemMark, NewItem } from '../../contracts/operations.ts'
import type { ItemState } from '../../core/operation.ts'
import type { File } from './file.ts'
import { markAlike, markLetters } from './letter-marks.ts'
import { removeLetters } from './letter-removal.ts'
import { instant } from './parcels.ts'

const KEEP = `
INSERT INTO reprieve_operation_item (operation, place, letter, state, because, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`
/** A hold of an operation that is over is taken over. */
const HOLD = `
INSERT INTO reprieve_operation_hold (letter, operation, place) VALUES (?, ?, ?)
ON CONFLICT (letter) DO UPDATE SET operation = excluded.operation, place = excluded.place
WHERE NOT EXISTS (SELECT 1 FROM reprieve_operation WHERE number = reprieve_operation_hold.operation AND live = 1)`
const KNOWN = `
SELECT 1 FROM reprieve_operation_item WHERE operation = ?1 AND place = ?2
UNION ALL SELECT 1 FROM reprieve_operation_item WHERE operation = ?1 AND letter = ?3`
const ANY_KNOWN = `
SELECT 1 FROM reprieve_operation_item WHERE operation = ?1 AND place IN (SELECT value FROM json_each(?2))
UNION ALL
SELECT 1 FROM reprieve_operation_item WHERE operation = ?1 AND letter IN (SELECT value FROM json_each(?3)) LIMIT 1`
const FREE = 'DELETE FROM reprieve_operation_hold WHERE letter = ? AND operation = ?'
const ITEM = 'SELECT letter, state, because FROM reprieve_operation_item WHERE operation = ? AND place = ?'
const MARK = `
UPDATE reprieve_operation_item SET state = ?, because = ?, at = ? WHERE operation = ? AND place = ? AND state = ?`
/** In the order of their places, as they were named. */
const ITEMS_AT = `
SELECT letter, state, because FROM json_each(?) CROSS JOIN reprieve_operation_item AS item
ON item.operation = ? AND item.place = value ORDER BY json_each.key`
const MARK_ALL = `
UPDATE reprieve_operation_item SET state = ?, because = ?, at = ?
WHERE operation = ? AND place IN (SELECT value FROM json_each(?))`
const HELD = 'SELECT operation, place FROM reprieve_operation_hold WHERE letter = ?'
const COUNT = `
INSERT INTO reprieve_operation_tally (operation, state, because, count) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET count = count + excluded.count`

/** Sums of what one commit changes: a row of the tally for each, not for each item. */
export const tallyOf = (file: File, operation: number) => {
  const sums = new Map<string, { state: string; because: string; by: number }>()
  return {
    add: (state: string, because: string, by: number): void => {
      const name = `${state}\n${because}`
      sums.set(name, { state, because, by: (sums.get(name)?.by ?? 0) + by })
    },
    write: (): void => {
      for (const { state, because, by } of sums.values())
        if (by !== 0) file.sql(COUNT).run(operation, state, because, by)
    },
  }
}

/** Within a transaction. */
export const addItems = (file: File, operation: number, items: readonly NewItem[]): void => {
  const tally = tallyOf(file, operation)
  const [known, hold, keep] = [file.sql(KNOWN), file.sql(HOLD), file.sql(KEEP)]
  const anew = areNew(file, operation, items)
  for (const { place, letter, state, because = '', at } of items) {
    if (!anew && known.get(operation, place, letter)) continue
    const free = state === 'skipped' || hold.run(letter, operation, place).changes === 1
    const as = free ? ([state, because] as const) : (['skipped', 'in another operation'] as const)
    keep.run(operation, place, letter, ...as, instant(at))
    tally.add(...as, 1)
  }
  tally.write()
}

/** None of them is an item yet: one look for all, which is what it nearly always is. */
const areNew = (file: File, operation: number, items: readonly NewItem[]): boolean => {
  const letters = [...new Set(items.map(({ letter }) => letter))]
  const places = [...new Set(items.map(({ place }) => place))]
  if (letters.length < items.length || places.length < items.length) return false
  return !file.sql(ANY_KNOWN).get(operation, JSON.stringify(places), JSON.stringify(letters))
}

/** Within a transaction: items, and their letters with them. Answers which took effect, and the letters of those. */
export const markItems = (
  file: File,
  operation: number,
  marks: readonly ItemMark[],
): { readonly done: readonly boolean[]; readonly letters: readonly string[] } => {
  const letters = marks.length > 1 ? markItemsAlike(file, operation, marks) : undefined
  return letters ? { done: marks.map(() => true), letters } : markEach(file, operation, marks)
}

/** One by one. */
const markEach = (
  file: File,
  operation: number,
  marks: readonly ItemMark[],
): { readonly done: readonly boolean[]; readonly letters: readonly string[] } => {
  const tally = tallyOf(file, operation)
  const rows = marks.map(({ place, from }) => {
    const row = file.sql(ITEM).get(operation, place)
    return row && from.includes(row.state as ItemState) ? row : undefined
  })
  const changed = changeLetters(
    file,
    marks.flatMap(({ letter, at }, i) =>
      rows[i] && letter ? [{ ...letter, id: rows[i].letter as string, at }] : [],
    ),
  )
  const letters: string[] = []
  const done = marks.map(({ place, to, because = '', at, letter }, i) => {
    const row = rows[i]
    if (!row || (letter && !changed.has(row.letter as string))) return false
    if (file.sql(MARK).run(to, because, instant(at), operation, place, row.state!).changes !== 1) return false
    if (to === 'skipped' || to === 'failed') file.sql(FREE).run(row.letter!, operation)
    tally.add(row.state as string, row.because as string, -1)
    tally.add(to, because, 1)
    letters.push(row.letter as string)
    return true
  })
  tally.write()
  return { done, letters }
}

/** A batch is marked alike: some statements for all of it. undefined: not all of it can be, and nothing was done. */
const markItemsAlike = (
  file: File,
  operation: number,
  marks: readonly ItemMark[],
): readonly string[] | undefined => {
  const first = marks[0]!
  const { from, to, because = '', at, letter } = first
  if (to === 'skipped' || to === 'failed' || letter?.to === 'removed') return undefined
  if (!marks.every((mark) => isAlike(mark, first))) return undefined
  const places = JSON.stringify(marks.map(({ place }) => place))
  const look = file.sql(ITEMS_AT)
  look.setReturnArrays(true)
  const rows = look.all(places, operation) as unknown as readonly [string, ItemState, string][]
  if (rows.length !== marks.length || !rows.every(([, state]) => from.includes(state))) return undefined
  const letters = rows.map(([id]) => id)
  if (new Set(letters).size < letters.length) return undefined
  if (letter && !markAlike(file, letters, { from: letter.from, to: letter.to as LetterState, at }))
    return undefined
  file.sql(MARK_ALL).run(to, because, instant(at), operation, places)
  const tally = tallyOf(file, operation)
  for (const [, state, why] of rows) tally.add(state, why, -1)
  tally.add(to, because, marks.length)
  tally.write()
  return letters
}

const isAlike = (a: ItemMark, b: ItemMark): boolean =>
  a === b ||
  (a.to === b.to &&
    a.because === b.because &&
    a.at === b.at &&
    sameStates(a.from, b.from) &&
    a.letter?.to === b.letter?.to &&
    sameStates(a.letter?.from ?? [], b.letter?.from ?? []))

const sameStates = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((state, i) => state === b[i]))

type Change = NonNullable<ItemMark['letter']> & { readonly id: string; readonly at: number }

/** The ids of those that took effect. */
const changeLetters = (file: File, changes: readonly Change[]): ReadonlySet<string> => {
  const removals = changes.filter(({ to }) => to === 'removed')
  const marks = changes.filter((each): each is Change & LetterMark => each.to !== 'removed')
  const removed = removals.length > 0 ? removeLetters(file, removals) : []
  const marked = marks.length > 0 ? markLetters(file, marks) : []
  return new Set([
    ...removals.flatMap(({ id }, i) => (removed[i] ? [id] : [])),
    ...marks.flatMap(({ id }, i) => (marked[i] ? [id] : [])),
  ])
}

/** Within the transaction that marks letters: those that came back from a replay end their items too. */
export const endItems = (file: File, marks: readonly LetterMark[], done: readonly boolean[]): void => {
  for (const [i, { id, to, at }] of marks.entries()) {
    if (!done[i] || (to !== 'resolved' && to !== 'dead again')) continue
    const held = file.sql(HELD).get(id)
    if (!held) continue
    markItems(file, held.operation as number, [
      { place: held.place as number, from: ['sending', 'sent'], to, at },
    ])
  }
}
