import type { ItemMark } from '../../contracts/operations.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import { appendAt, lockEnd } from './audit.ts'
import { instant } from './keys.ts'
import { type Row, TALLIED, type Tallied, talliedOf } from './letter-rows.ts'
import { change, lockGroups } from './letter-tallies.ts'
import { IN_SPAN, isSpan, markSpan, spanOf } from './operation-marks.ts'
import type { Ask } from './pool.ts'

/** Thrown, so that what was put already is undone. */
export class OfAnotherVersion extends Error {}

/** Not all of a step can be marked: nothing of it may stay, and each is to be looked at by itself. */
export class Uneven extends Error {}

/**
 * A step that is sent: items and letters become the same from the same, nothing of theirs is freed, removed or resolved,
 * and the letters are named.
 */
export const isStep = (marks: readonly ItemMark[]): boolean => {
  const goal = marks[0]?.letter?.to
  if (!goal || goal === 'removed' || goal === 'resolved' || !isSpan(marks)) return false
  const from = marks[0]!.letter!.from.join()
  return marks.every(
    ({ letter }) => letter?.id !== undefined && letter.to === goal && letter.from.join() === from,
  )
}

/**
 * Marks letters and items by one statement each, which answer with sums: none of them is read again. Locks are taken in
 * the same order as everywhere; a letter that another transaction changed meanwhile is passed over by its statement, and
 * missing in the sums.
 */
export const markStep = async (
  { ask, last }: { readonly ask: Ask; readonly last: Ask },
  schema: string,
  operation: string,
  lock: () => Promise<Row | undefined>,
  marks: readonly ItemMark[],
  act?: ActOnLetters,
): Promise<readonly boolean[]> => {
  const [moved, row, changed] = await Promise.all([
    moveLetters(ask, schema, operation, marks),
    lock(),
    markSpan(ask, schema, operation, marks),
  ])
  if (!row) throw new OfAnotherVersion()
  if (moved.count !== marks.length || !changed) throw new Uneven()
  const groups = moved.tallied.map(([tallied]) => tallied[0]!)
  const { to } = marks[0]!.letter!
  const changes = moved.tallied.flatMap(([from, count]): (readonly [Tallied, number])[] => [
    [from, -count],
    [from.with(1, to), count],
  ])
  const [, , end] = await Promise.all([
    lockGroups(ask, schema, groups),
    change(ask, schema, changes),
    act && lockEnd(ask, schema),
  ])
  const ids = marks.map(({ letter }) => letter!.id!)
  if (act && end) await appendAt(last, schema, actOn(act, ids), end)
  return marks.map(() => true)
}

/**
 * In the order of their ids, as they are locked everywhere. Which letter an item is of never changes, so that the items need
 * not be ours yet; where they are not all that lies there nothing is moved.
 */
const moveLetters = async (ask: Ask, schema: string, operation: string, marks: readonly ItemMark[]) => {
  const names = TALLIED.map((name) => (name === 'state' ? 'was.state' : `l.${name}`)).join(', ')
  const { letter, at } = marks[0]!
  const { rows } = await ask({
    name: `reprieve ${schema} move letters`,
    text: `
      WITH there AS MATERIALIZED (
        SELECT i.place, i.letter FROM ${schema}.operation_item AS i WHERE ${IN_SPAN}),
      moved AS (
        UPDATE ${schema}.letter AS l SET state = $6, state_at = $7
        FROM (SELECT letter FROM there ORDER BY letter OFFSET 0) AS n, LATERAL (
          SELECT x.ctid AS row, x.state FROM ${schema}.letter AS x WHERE x.id = n.letter OFFSET 0) AS was
        WHERE l.ctid = was.row AND was.state = ANY ($8::text[])
          AND (SELECT array_agg(place ORDER BY place) = $5::bigint[] FROM there)
        RETURNING ${names})
      SELECT ${TALLIED.join(', ')}, count(*) AS count FROM moved GROUP BY ${TALLIED.join(', ')}`,
    values: [...spanOf(operation, marks), letter!.to, instant(at), letter!.from],
  })
  return {
    count: rows.reduce((sum, { count }) => sum + Number(count), 0),
    tallied: rows.map((row) => [talliedOf(row), Number(row.count)] as const),
  }
}
