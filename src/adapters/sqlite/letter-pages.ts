import type { SQLInputValue } from 'node:sqlite'
import type { Counted, KeptLetter, KeptOutline, KeptSendable, LetterFilter } from '../../contracts/letters.ts'
import type { Instant } from '../../core/time.ts'
import type { File } from './file.ts'
import { OUTLINE, type OutlineRow, outlineOf, type SendableRow, sendableOf } from './letter-outlines.ts'
import { all, apartOf, type Conditions, isTallied, KEPT, keptOf, ofLetters, tallied } from './letter-rows.ts'
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

interface Question {
  /** Their numbers and places in order, as a table. */
  readonly text: string
  readonly values: readonly SQLInputValue[]
}

/**
 * Which letters may fit is known from the tallies. Each group and state is a piece of one index that lies in order
 * already, so that a page reads no more than a page of each piece, however many letters there are.
 */
const placesOf = (
  file: File,
  filter: LetterFilter,
  limit: number,
  after: Place | undefined,
): Question | undefined => {
  const { pieces, rest } = piecesOf(file, filter)
  if (pieces.length === 0) return undefined
  const behind: Conditions = after
    ? { where: ['(buried_at, id) < (?, ?)'], values: [after.at, after.id] }
    : { where: [], values: [] }
  const branches = pieces.map((piece) => all(piece, tallied(rest), ofLetters(filter), behind))
  const text = branches
    .map(
      ({ where }) =>
        `SELECT * FROM (SELECT buried_at, id, number FROM reprieve_letter ${where} ${ORDER} LIMIT ?)`,
    )
    .join(' UNION ALL ')
  const values = branches.flatMap((each): SQLInputValue[] => [...each.values, limit])
  return { text: `(${text} ${ORDER} LIMIT ?) AS place`, values: [...values, limit] }
}

const BY_PLACE = `
CROSS JOIN reprieve_letter AS letter ON letter.number = place.number`
const IN_ORDER = 'ORDER BY place.buried_at DESC, place.id DESC'

/** Newest first. */
export const page = (file: File, filter: LetterFilter, limit: number, after?: Place): KeptLetter[] => {
  const places = placesOf(file, filter, limit, after)
  if (!places) return []
  return file
    .sql(`SELECT ${KEPT}, ${NEWEST} FROM ${places.text} ${BY_PLACE} ${apartOf('letter.number')} ${IN_ORDER}`)
    .all(...places.values)
    .map(keptOf)
}

/** Newest first. Where one has no outline all of them are read whole. */
export const outlines = (
  file: File,
  filter: LetterFilter,
  limit: number,
  after?: Place,
): readonly KeptOutline[] => {
  const places = placesOf(file, filter, limit, after)
  if (!places) return []
  const look = file.sql(`SELECT ${OUTLINE} FROM ${places.text} ${BY_PLACE} ${IN_ORDER}`)
  look.setReturnArrays(true)
  const rows = look.all(...places.values) as unknown as readonly OutlineRow[]
  return rows.some((row) => row[5] === null) ? page(file, filter, limit, after) : rows.map(outlineOf)
}

const SENDABLES = `
SELECT ${OUTLINE}, headers, data
FROM json_each(?) CROSS JOIN reprieve_letter AS letter ON letter.id = value
LEFT JOIN reprieve_content AS content ON content.letter = letter.number`

/** Those that were repaired, or have no outline, are read whole. */
export const sendables = (file: File, ids: readonly string[]): readonly KeptSendable[] => {
  const look = file.sql(SENDABLES)
  look.setReturnArrays(true)
  const rows = look.all(JSON.stringify(ids)) as unknown as readonly SendableRow[]
  const whole = rows.filter((row) => row[5] === null || row[6] !== null).map(([id]) => id)
  if (whole.length === 0) return rows.map(sendableOf)
  const lean = rows.filter(([id]) => !whole.includes(id))
  return [...lean.map(sendableOf), ...page(file, { ids: whole }, whole.length)]
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
