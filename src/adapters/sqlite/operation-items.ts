import type { LetterMark, LetterState } from '../../contracts/letters.ts'
import type { ItemMark, NewItem } from '../../contracts/operations.ts'
import type { ItemState, Skip } from '../../core/operation.ts'
import type { File } from './file.ts'
import { markAlike, markLetters } from './letter-marks.ts'
import { removeLetters } from './letter-removal.ts'
import { instant } from './parcels.ts'

const KEEP = `
INSERT INTO reprieve_operation_item (operation, place, letter, state, because, at, repair) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`
/** A hold of an operation that is over is taken over. */
const UNLESS_LIVE = `
ON CONFLICT (letter) DO UPDATE SET operation = excluded.operation, place = excluded.place
WHERE NOT EXISTS (SELECT 1 FROM reprieve_operation WHERE number = reprieve_operation_held.operation AND live = 1)`
const HOLD = `
INSERT INTO reprieve_operation_held (letter, operation, place)
SELECT number, ?2, ?3 FROM reprieve_letter WHERE id = ?1 ${UNLESS_LIVE}`
const PAGE = 'FROM reprieve_operation_item AS item WHERE operation = ?1 AND place BETWEEN ?2 AND ?3'
/** The same for a page of items that are there already. */
const HOLD_ALL = `
INSERT INTO reprieve_operation_held (letter, operation, place)
SELECT letter.number, item.operation, item.place
FROM reprieve_operation_item AS item CROSS JOIN reprieve_letter AS letter ON letter.id = item.letter
WHERE item.operation = ?1 AND item.place BETWEEN ?2 AND ?3 AND item.state <> 'skipped' ${UNLESS_LIVE}`
const ANY_IN_PAGE = `SELECT 1 ${PAGE} LIMIT 1`
const FREE_PAGE = `
DELETE FROM reprieve_operation_held WHERE operation = ?1 AND place BETWEEN ?2 AND ?3
AND letter IN (SELECT number FROM reprieve_letter WHERE id IN (SELECT letter ${PAGE}))`
const DROP_PAGE = `DELETE ${PAGE}`
const NUMBER = '(SELECT number FROM reprieve_letter WHERE id = ?)'
const FREE = `DELETE FROM reprieve_operation_held WHERE letter = ${NUMBER} AND operation = ?`
const HELD = `SELECT operation, place FROM reprieve_operation_held WHERE letter = ${NUMBER}`
const ITEM = 'SELECT letter, state, because FROM reprieve_operation_item WHERE operation = ? AND place = ?'
const MARK = `
UPDATE reprieve_operation_item SET state = ?, because = ?, at = ? WHERE operation = ? AND place = ? AND state = ?`
/** Those that are marked together lie together. */
const SPAN = 'WHERE operation = ? AND state = ? AND place BETWEEN ? AND ?'
const ITEMS_IN = `SELECT place, letter, because FROM reprieve_operation_item ${SPAN} ORDER BY place`
const MARK_ALL = `UPDATE reprieve_operation_item SET state = ?, because = ?, at = ? ${SPAN}`
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
  if (!addPage(file, operation, items)) addEach(file, operation, items)
}

/** Most pages are of letters that nobody holds: they are held by one statement. False: this one is not, and nothing was done. */
const addPage = (file: File, operation: number, items: readonly NewItem[]): boolean => {
  let [first, last, toHold] = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0]
  for (const { place, state } of items) {
    first = Math.min(first, place)
    last = Math.max(last, place)
    if (state !== 'skipped') toHold++
  }
  if (file.sql(ANY_IN_PAGE).get(operation, first, last)) return false
  const tally = tallyOf(file, operation)
  const keep = file.sql(KEEP)
  for (const { place, letter, state, because = '', at, repair = '' } of items)
    if (keep.run(operation, place, letter, state, because, instant(at), repair).changes === 1)
      tally.add(state, because, 1)
  if (file.sql(HOLD_ALL).run(operation, first, last).changes === toHold) {
    tally.write()
    return true
  }
  file.sql(FREE_PAGE).run(operation, first, last)
  file.sql(DROP_PAGE).run(operation, first, last)
  return false
}

const addEach = (file: File, operation: number, items: readonly NewItem[]): void => {
  const tally = tallyOf(file, operation)
  const [keep, hold] = [file.sql(KEEP), file.sql(HOLD)]
  for (const item of items) {
    const { place, letter, at, repair = '' } = item
    const free = item.state === 'skipped' || hold.run(letter, operation, place).changes === 1
    // a letter that is gone is held by nobody, and will not be found when it is its turn
    const held = free ? undefined : file.sql(HELD).get(letter)
    if (held?.operation === operation) continue
    const [state, because] = !held ? [item.state, item.because ?? ''] : (['skipped', ELSEWHERE] as const)
    if (keep.run(operation, place, letter, state, because, instant(at), repair).changes === 1)
      tally.add(state, because, 1)
    else if (state !== 'skipped') file.sql(FREE).run(letter, operation)
  }
  tally.write()
}

const ELSEWHERE: Skip = 'in another operation'

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

/**
 * A step is marked alike, and is all that lies between its first place and its last in one state: some statements for all
 * of it. undefined: it is not so, and nothing was done.
 */
const markItemsAlike = (
  file: File,
  operation: number,
  marks: readonly ItemMark[],
): readonly string[] | undefined => {
  const first = marks[0]!
  const { from, to, because = '', at, letter } = first
  if (to === 'skipped' || to === 'failed' || letter?.to === 'removed') return undefined
  if (from.length !== 1 || !marks.every((mark) => isAlike(mark, first))) return undefined
  const span = [operation, from[0]!, first.place, marks.at(-1)!.place] as const
  const look = file.sql(ITEMS_IN)
  look.setReturnArrays(true)
  const rows = look.all(...span) as unknown as readonly [place: number, letter: string, because: string][]
  if (rows.length !== marks.length || !rows.every(([place], i) => place === marks[i]!.place)) return undefined
  const letters = rows.map(([, id]) => id)
  if (letter && !markAlike(file, letters, { from: letter.from, to: letter.to as LetterState, at }))
    return undefined
  file.sql(MARK_ALL).run(to, because, instant(at), ...span)
  const tally = tallyOf(file, operation)
  for (const [why, count] of alikeIn(rows)) tally.add(from[0]!, why, -count)
  tally.add(to, because, marks.length)
  tally.write()
  return letters
}

/** How many in a row say the same: mostly all of them. */
const alikeIn = (rows: readonly (readonly [place: number, letter: string, because: string])[]) => {
  const sums: [because: string, count: number][] = []
  for (const [, , because] of rows) {
    const last = sums.at(-1)
    if (last?.[0] === because) last[1]++
    else sums.push([because, 1])
  }
  return sums
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
