import type { Counted, KeptLetter, LetterFilter } from '../../contracts/letters.ts'
import type { Instant } from '../../core/time.ts'
import {
  type Condition,
  isTallied,
  KEPT,
  keptOf,
  ofLetters,
  type Put,
  places,
  TALLIED,
  tallied,
  where,
} from './letter-rows.ts'
import type { Ask } from './pool.ts'

export interface Place {
  readonly at: Instant
  readonly id: string
}

/** More pieces than this, and one ordered walk through the letters is the better way. */
const MOST_PIECES = 40
const ORDER = 'ORDER BY buried_at DESC, id DESC'

/**
 * How letters are walked through. What may fit is known from the tallies: each group and state is a piece of one index
 * that lies in order already, so that a page reads no more than a page of each piece, however many letters there are.
 *
 *   pieces   the groups and states that have such letters
 *   states   too many of those, and states are named: a piece for each state
 *   age      all of them in order, those that fit picked out
 *   names    ids are named, and found by themselves
 */
type Way = 'pieces' | 'states' | 'age' | 'names'

/** Only how fast the answer comes hangs on it, not which. */
const wayFor = async (ask: Ask, schema: string, filter: LetterFilter): Promise<Way> => {
  if (filter.ids !== undefined || filter.beginning !== undefined) return 'names'
  const told = tallied(filter)
  if (told.length === 0) return 'age'
  const { values, put } = places()
  const { rows } = await ask({
    text: `SELECT DISTINCT fingerprint, state FROM ${schema}.letter_tally ${where(told, put)} LIMIT ${MOST_PIECES + 1}`,
    values,
  })
  if (rows.length <= MOST_PIECES) return 'pieces'
  return filter.states && isTallied(filter) ? 'states' : 'age'
}

/** What the way does not say already. */
const restOf = (way: Way, { fingerprint, states, ...rest }: LetterFilter): LetterFilter => ({
  ...rest,
  ...(way !== 'pieces' && fingerprint !== undefined && { fingerprint }),
  ...((way === 'age' || way === 'names') && states && { states }),
})

/** All along the way, as a table `found`: pieces and letters are read by one statement, so that none is missed between. */
const along = (
  way: Way,
  schema: string,
  filter: LetterFilter,
  put: Put,
  select: (piece: readonly Condition[]) => string,
): string => {
  if (way === 'pieces') {
    const pieces = `SELECT DISTINCT fingerprint, state FROM ${schema}.letter_tally ${where(tallied(filter), put)}`
    const piece = select([() => 'l.fingerprint = p.fingerprint', () => 'l.state = p.state'])
    return `(${pieces}) AS p CROSS JOIN LATERAL (${piece}) AS found`
  }
  if (way !== 'states') return `(${select([])}) AS found`
  const states = `unnest(${put([...new Set(filter.states)])}::text[]) AS p (state)`
  return `${states} CROSS JOIN LATERAL (${select([() => 'l.state = p.state'])}) AS found`
}

/** Newest first. */
export const page = async (
  ask: Ask,
  schema: string,
  filter: LetterFilter,
  limit: number,
  after?: Place,
): Promise<readonly KeptLetter[]> => {
  const way = await wayFor(ask, schema, filter)
  const { values, put } = places()
  const beyond: Condition[] = after ? [() => `(buried_at, id) < (${put(after.at)}, ${put(after.id)})`] : []
  const most = put(limit)
  const fits = [...tallied(restOf(way, filter)), ...ofLetters(filter), ...beyond]
  // OFFSET 0: named ones are looked up, and then put in order; never looked for along the order
  const end = way === 'names' ? 'OFFSET 0' : `${ORDER} LIMIT ${most}`
  const from = along(
    way,
    schema,
    filter,
    put,
    (piece) => `SELECT buried_at, id FROM ${schema}.letter AS l ${where([...piece, ...fits], put)} ${end}`,
  )
  const { rows } = await ask({
    text: `SELECT ${KEPT}, (SELECT repair FROM ${schema}.letter_repair WHERE letter = place.id ORDER BY version DESC LIMIT 1)
      AS repair FROM (SELECT found.* FROM ${from} ${ORDER} LIMIT ${most}) AS place
      JOIN ${schema}.letter USING (id) ORDER BY place.buried_at DESC, place.id DESC`,
    values,
  })
  return rows.map(keptOf)
}

/** Counts letters one by one, and looks at no more of them than `looks`. */
export const countLooking = async (
  ask: Ask,
  schema: string,
  filter: LetterFilter,
  looks: number,
): Promise<Counted> => {
  const way = await wayFor(ask, schema, filter)
  const { values, put } = places()
  const from = along(
    way,
    schema,
    filter,
    put,
    (piece) =>
      `SELECT ${TALLIED.map((name) => `l.${name}`).join(', ')} FROM ${schema}.letter AS l
        ${where([...piece, ...ofLetters(filter)], put)}`,
  )
  const fit = tallied(restOf(way, filter)).map((condition) => condition(put))
  const { rows } = await ask({
    text: `SELECT count(*) FILTER (WHERE ${fit.join(' AND ') || 'true'}) AS fit, count(*) AS seen
      FROM (SELECT found.* FROM ${from} LIMIT ${put(looks)}) AS seen`,
    values,
  })
  return { count: Number(rows[0]!.fit), whole: Number(rows[0]!.seen) < looks }
}

/** For a filter that tallies tell whole. */
export const countTallied = async (ask: Ask, schema: string, filter: LetterFilter): Promise<number> => {
  const { values, put } = places()
  const text = `SELECT sum(count) AS n FROM ${schema}.letter_tally ${where(tallied(filter), put)}`
  return Number((await ask({ text, values })).rows[0]?.n ?? 0)
}
