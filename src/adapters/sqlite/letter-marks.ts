import type { SQLInputValue } from 'node:sqlite'
import type { LetterMark, LetterState } from '../../contracts/letters.ts'
import type { File } from './file.ts'
import { countMoves, type Move, TALLIED } from './letter-tallies.ts'
import { instant } from './parcels.ts'

const TO_MARK = `SELECT ${TALLIED.join(', ')} FROM reprieve_letter WHERE id = ?`
const MARK = 'UPDATE reprieve_letter SET state = ?, state_at = ? WHERE id = ?'
/** The same of many: how many of them are alike, and one statement for all. */
const NAMES = TALLIED.map((name) => `letter.${name}`).join(', ')
const ALIKE = `
SELECT ${NAMES}, count(*) FROM json_each(?) CROSS JOIN reprieve_letter AS letter ON letter.id = value
GROUP BY ${NAMES}`
const MARK_ALL = `
UPDATE reprieve_letter SET state = ?, state_at = ? WHERE id IN (SELECT value FROM json_each(?))`

/** Within a transaction: marks letters, and counts them anew. Answers which took effect. */
export const markLetters = (file: File, marks: readonly LetterMark[]): readonly boolean[] => {
  const ids = marks.map(({ id }) => id)
  const [first] = marks
  const alike = first && marks.length > 1 && marks.every((mark) => isAlike(mark, first))
  if (alike && new Set(ids).size === ids.length && markAlike(file, ids, first)) return marks.map(() => true)
  return markEach(file, marks)
}

const isAlike = (a: LetterMark, b: LetterMark): boolean =>
  a.to === b.to && a.at === b.at && a.from.length === b.from.length && a.from.every((s, i) => s === b.from[i])

/** One after another: the same letter may be marked twice. */
const markEach = (file: File, marks: readonly LetterMark[]): readonly boolean[] => {
  const moves: Move[] = []
  const done = marks.map(({ id, from, to, at }) => {
    const row = file.sql(TO_MARK).get(id)
    if (!row || !from.includes(row.state as LetterState)) return false
    file.sql(MARK).run(to, instant(at), id)
    moves.push({ from: TALLIED.map((name) => row[name]!), to, at, count: 1 })
    return true
  })
  countMoves(file, moves)
  return done
}

/** Within a transaction: one mark for many letters, each named once. False: not all can take effect, and nothing was done. */
export const markAlike = (
  file: File,
  ids: readonly string[],
  { from, to, at }: Omit<LetterMark, 'id'>,
): boolean => {
  const named = JSON.stringify(ids)
  const look = file.sql(ALIKE)
  look.setReturnArrays(true)
  const alike = look.all(named) as unknown as readonly SQLInputValue[][]
  let there = 0
  for (const row of alike) {
    if (!from.includes(row[STATE] as LetterState)) return false
    there += row[TALLIED.length] as number
  }
  if (there !== ids.length) return false
  file.sql(MARK_ALL).run(to, instant(at), named)
  const moves = alike.map((row) => ({
    from: row.slice(0, TALLIED.length),
    to,
    at,
    count: row[TALLIED.length] as number,
  }))
  countMoves(file, moves)
  return true
}

const STATE = TALLIED.indexOf('state')
