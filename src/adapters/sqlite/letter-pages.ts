import type { SQLInputValue } from 'node:sqlite'
import type { Counted, KeptLetter, LetterFilter } from '../../contracts/letters.ts'
import type { Instant } from '../../core/time.ts'
import type { File } from './file.ts'
import { all, type Conditions, isTallied, keptOf, ofLetters, tallied } from './letter-rows.ts'
import { TALLIED } from './letter-tallies.ts'

export interface Place {
  readonly at: Instant
  readonly id: string
}

/** More pieces than this, and one ordered walk through the letters is the better way. */
const MOST_PIECES = 40
const NEWEST = `(SELECT repair FROM reprieve_letter_repair AS one
  WHERE one.letter = letter.id ORDER BY version DESC LIMIT 1) AS repair`
const ORDER = 'ORDER BY buried_at DESC, id DESC'

/**
 * Which letters may fit is known from the tallies. Each group and state is a piece of one index that lies in order
 * already, so that a page reads no more than a page of each piece, however many letters there are.
 */
export const page = (file: File, filter: LetterFilter, limit: number, after?: Place): KeptLetter[] => {
  const { pieces, rest } = piecesOf(file, filter)
  if (pieces.length === 0) return []
  const behind: Conditions = after
    ? { where: ['(buried_at, id) < (?, ?)'], values: [after.at, after.id] }
    : { where: [], values: [] }
  const branches = pieces.map((piece) => all(piece, tallied(rest), ofLetters(filter), behind))
  const text = branches
    .map(({ where }) => `SELECT * FROM (SELECT buried_at, id FROM reprieve_letter ${where} ${ORDER} LIMIT ?)`)
    .join(' UNION ALL ')
  const values = branches.flatMap((each): SQLInputValue[] => [...each.values, limit])
  return file
    .sql(
      `SELECT state, state_at, type, envelope, letter.fingerprint, ${NEWEST} FROM (${text} ${ORDER} LIMIT ?) AS place
      CROSS JOIN reprieve_letter AS letter ON letter.id = place.id ORDER BY place.buried_at DESC, place.id DESC`,
    )
    .all(...values, limit)
    .map(keptOf)
}

/** Counts letters one by one, and looks at no more of them than `looks`. */
export const countLooking = (file: File, filter: LetterFilter, looks: number): Counted => {
  const { pieces, rest } = piecesOf(file, filter)
  if (pieces.length === 0) return { count: 0, whole: true }
  const branches = pieces.map((piece) => all(piece, ofLetters(filter)))
  const seen = branches.map(({ where }) => `SELECT ${TALLIED.join(', ')} FROM reprieve_letter ${where}`)
  const fit = tallied(rest)
  const row = file
    .sql(
      `SELECT count(*) FILTER (WHERE ${fit.where.join(' AND ') || '1'}) AS fit, count(*) AS seen
      FROM (${seen.join(' UNION ALL ')} LIMIT ?)`,
    )
    .get(...fit.values, ...branches.flatMap(({ values }) => values), looks)
  return { count: row!.fit as number, whole: (row!.seen as number) < looks }
}

interface Pieces {
  readonly pieces: readonly Conditions[]
  /** What the pieces do not say already. */
  readonly rest: LetterFilter
}

const piecesOf = (file: File, filter: LetterFilter): Pieces => {
  const whole = { pieces: [{ where: [], values: [] }], rest: filter }
  const { where, values } = all(tallied(filter))
  // named ids are found by themselves; where nothing is asked, the index by age has all in order
  if (where === '' || filter.ids !== undefined || filter.beginning !== undefined) return whole
  const found = file
    .sql(`SELECT DISTINCT fingerprint, state FROM reprieve_letter_tally ${where} LIMIT ${MOST_PIECES + 1}`)
    .all(...values)
  if (found.length <= MOST_PIECES) {
    const pieces = found.map(({ fingerprint, state }) => ({
      where: ['fingerprint = ?', 'state = ?'],
      values: [fingerprint!, state!],
    }))
    const { fingerprint: _, states: __, ...rest } = filter
    return { pieces, rest }
  }
  if (!filter.states || !isTallied(filter)) return whole
  const { states, ...rest } = filter
  return { pieces: states.map((state) => ({ where: ['state = ?'], values: [state] })), rest }
}
