import type {
  Counted,
  KeptLetter,
  KeptOutline,
  KeptSendable,
  LetterFilter,
  LetterState,
} from '../../contracts/letters.ts'
import type { Instant } from '../../core/time.ts'
import { wordOf } from './keys.ts'
import {
  type Condition,
  KEPT,
  keptOf,
  OUTLINE,
  ofLetters,
  outlineOf,
  type Put,
  places,
  sendableOf,
  TALLIED,
  tallied,
  where,
} from './letter-rows.ts'
import type { Ask } from './pool.ts'

export interface Place {
  readonly at: Instant
  readonly id: string
}

/** More pieces than this, and one ordered walk through the letters of each state is the better way. */
const MOST_PIECES = 40
const STATES: readonly LetterState[] = [
  ...(['open', 'replaying', 'resolved', 'dead again', 'discarded', 'quarantined'] as const),
]

/**
 * How letters are walked through. What may fit is known from the tallies: each group and state is a piece of one index
 * that lies in order already, so that a page reads no more than a page of each piece, however many letters there are.
 *
 *   pieces   the groups and states that have such letters
 *   states   too many of those, or nothing is asked: a piece for each state, those that fit picked out
 *   names    ids are named, and found by themselves
 */
type Way = 'pieces' | 'states' | 'names'

/** The time of burial as the index of this way has it. */
const timeOn = (way: Way): string => (way === 'states' ? '(buried_at + 0)' : 'buried_at')

/** Only how fast the answer comes hangs on it, not which. */
const wayFor = async (ask: Ask, schema: string, filter: LetterFilter): Promise<Way> => {
  if (filter.ids !== undefined || filter.beginning !== undefined) return 'names'
  const { states: _, ...others } = filter
  if (tallied(others).length === 0) return 'states'
  const { values, put } = places()
  const { rows } = await ask({
    text: `SELECT DISTINCT fingerprint, state FROM ${schema}.letter_tally ${where(tallied(filter), put)}
      LIMIT ${MOST_PIECES + 1}`,
    values,
  })
  return rows.length <= MOST_PIECES ? 'pieces' : 'states'
}

/** What the way does not say already. */
const restOf = (way: Way, filter: LetterFilter): LetterFilter => {
  if (way === 'names') return filter
  const { fingerprint, states: _, ...rest } = filter
  return way === 'states' && fingerprint !== undefined ? { ...rest, fingerprint } : rest
}

/** All along the way, as a table `found`: pieces and letters are read by one statement, so that none is missed between. */
const along = (
  way: Way,
  schema: string,
  filter: LetterFilter,
  put: Put,
  select: (piece: readonly Condition[]) => string,
): string => {
  if (way === 'names') return `(${select([])}) AS found`
  if (way === 'states') {
    const states = put([...new Set(filter.states ?? STATES)])
    const piece = select([() => 'l.state = p.state'])
    return `unnest(${states}::text[]) AS p (state) CROSS JOIN LATERAL (${piece}) AS found`
  }
  const pieces = `SELECT DISTINCT fingerprint, state FROM ${schema}.letter_tally ${where(tallied(filter), put)}`
  const piece = select([() => 'l.fingerprint = p.fingerprint', () => 'l.state = p.state'])
  return `(${pieces}) AS p CROSS JOIN LATERAL (${piece}) AS found`
}

/** The places of a page, newest first, as a table; what is asked of them is added to its values. */
const placesFor = async (
  ask: Ask,
  schema: string,
  filter: LetterFilter,
  limit: number,
  after: Place | undefined,
): Promise<{ readonly table: string; readonly values: unknown[] }> => {
  const way = await wayFor(ask, schema, filter)
  const { values, put } = places()
  const time = timeOn(way)
  const beyond: Condition[] = after ? [() => `(${time}, id) < (${put(after.at)}, ${put(after.id)})`] : []
  const most = put(limit)
  const fits = [...tallied(restOf(way, filter)), ...ofLetters(filter, time), ...beyond]
  // OFFSET 0: named ones are looked up, and then put in order; never looked for along the order
  const end = way === 'names' ? 'OFFSET 0' : `ORDER BY ${time} DESC, id DESC LIMIT ${most}`
  const from = along(
    way,
    schema,
    filter,
    put,
    (piece) => `SELECT buried_at, id FROM ${schema}.letter AS l ${where([...piece, ...fits], put)} ${end}`,
  )
  return {
    table: `(SELECT found.* FROM ${from} ORDER BY buried_at DESC, id DESC LIMIT ${most}) AS place`,
    values,
  }
}

const IN_ORDER = 'ORDER BY place.buried_at DESC, place.id DESC'
const newest = (schema: string): string => `
(SELECT repair FROM ${schema}.letter_repair WHERE letter = place.id ORDER BY version DESC LIMIT 1) AS repair`

/** Newest first. */
export const page = async (
  ask: Ask,
  schema: string,
  filter: LetterFilter,
  limit: number,
  after?: Place,
): Promise<readonly KeptLetter[]> => {
  const { table, values } = await placesFor(ask, schema, filter, limit, after)
  const { rows } = await ask({
    text: `SELECT ${KEPT}, ${newest(schema)} FROM ${table} JOIN ${schema}.letter USING (id) ${IN_ORDER}`,
    values,
  })
  return rows.map(keptOf)
}

/** Newest first. Where one has no outline all of them are read whole. */
export const outlines = async (
  ask: Ask,
  schema: string,
  filter: LetterFilter,
  limit: number,
  after?: Place,
): Promise<readonly KeptOutline[]> => {
  const { table, values } = await placesFor(ask, schema, filter, limit, after)
  const { rows } = await ask({
    text: `SELECT ${OUTLINE}, ${newest(schema)} FROM ${table} JOIN ${schema}.letter AS l USING (id) ${IN_ORDER}`,
    values,
  })
  return rows.some(({ outline }) => outline === null)
    ? page(ask, schema, filter, limit, after)
    : rows.map(outlineOf)
}

/** Those that were repaired, or have no outline, are read whole. */
export const sendables = async (
  ask: Ask,
  schema: string,
  ids: readonly string[],
): Promise<readonly KeptSendable[]> => {
  const named = new Map(ids.map((id) => [wordOf(id), id]))
  const { rows } = await ask({
    name: `reprieve ${schema} sendables`,
    text: `SELECT ${OUTLINE}, l.headers, l.data,
      EXISTS (SELECT 1 FROM ${schema}.letter_repair AS r WHERE r.letter = l.id) AS repaired
      FROM ${schema}.letter AS l WHERE l.id = ANY ($1::text[])`,
    values: [[...named.keys()]],
  })
  const whole = rows.filter(({ outline, repaired }) => outline === null || repaired === true)
  const lean = rows.filter(({ outline, repaired }) => outline !== null && repaired !== true).map(sendableOf)
  if (whole.length === 0) return lean
  const others = whole.map(({ id }) => named.get(id as string)!)
  return [...lean, ...(await page(ask, schema, { ids: others }, others.length))]
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
        ${where([...piece, ...ofLetters(filter, timeOn(way))], put)}`,
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

/** When the oldest of them was buried. */
export const oldestOf = async (
  ask: Ask,
  schema: string,
  filter: LetterFilter,
): Promise<Instant | undefined> => {
  const { values, put } = places()
  const way = filter.service === undefined ? 'states' : 'pieces'
  const time = timeOn(way)
  const rest = tallied(restOf(way, filter))
  const from = along(
    way,
    schema,
    filter,
    put,
    (piece) =>
      `SELECT ${time} AS at FROM ${schema}.letter AS l ${where([...piece, ...rest], put)} ORDER BY ${time}, id LIMIT 1`,
  )
  const { rows } = await ask({ text: `SELECT min(found.at) AS at FROM ${from}`, values })
  return rows[0]!.at === null ? undefined : Number(rows[0]!.at)
}
