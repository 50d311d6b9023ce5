import type { ItemMark } from '../../contracts/operations.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import { appendAt, lockEnd } from './audit.ts'
import type { Result, Statement } from './client.ts'
import { instant } from './keys.ts'
import { TALLIED, type Tallied, talliedOf } from './letter-rows.ts'
import { change, lockGroups } from './letter-tallies.ts'
import { inSpan, isSpan, spanOf } from './operation-marks.ts'
import { type Ask, BEGUN } from './pool.ts'

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

/** Of a step that was begun by `moveLetters`: its groups, tallies and audit. */
export const endStep = async (
  { ask, last }: { readonly ask: Ask; readonly last: Ask },
  schema: string,
  moved: Result,
  marks: readonly ItemMark[],
  act?: ActOnLetters,
): Promise<void> => {
  const tallied = moved.rows.map((row) => [talliedOf(row), Number(row.count)] as const)
  if (tallied.reduce((sum, [, count]) => sum + count, 0) !== marks.length) throw new Uneven()
  const { to } = marks[0]!.letter!
  const changes = tallied.flatMap(([from, count]): (readonly [Tallied, number])[] => [
    [from, -count],
    [from.with(1, to), count],
  ])
  const [, , end] = await Promise.all([
    lockGroups(
      ask,
      schema,
      tallied.map(([from]) => from[0]!),
    ),
    change(ask, schema, changes),
    act && lockEnd(ask, schema),
  ])
  const ids = marks.map(({ letter }) => letter!.id!)
  if (act && end) await appendAt(last, schema, actOn(act, ids), end)
}

/**
 * All letters of a step by one statement, which answers with sums: none of them is read again. Goes with the beginning, in the
 * order of their ids, as they are locked everywhere. Which letter an item is of never changes, so that the items need not be
 * ours yet; where they are not all that lies there nothing is moved. A letter that another transaction changed meanwhile
 * is passed over, and missing in the sums.
 */
export const moveLetters = (schema: string, id: string, marks: readonly ItemMark[]): Statement => {
  const names = TALLIED.map((name) => (name === 'state' ? 'was.state' : `l.${name}`)).join(', ')
  const { letter, at } = marks[0]!
  return {
    name: `reprieve ${schema} move letters`,
    text: `
      WITH there AS MATERIALIZED (
        SELECT i.place, i.letter FROM ${schema}.operation_item AS i WHERE ${inSpan(schema)}),
      moved AS (
        UPDATE ${schema}.letter AS l SET state = $6, state_at = $7
        FROM (SELECT letter FROM there ORDER BY letter OFFSET 0) AS n, LATERAL (
          SELECT x.ctid AS row, x.state FROM ${schema}.letter AS x WHERE x.id = n.letter OFFSET 0) AS was
        WHERE l.ctid = was.row AND was.state = ANY ($8::text[])
          AND (SELECT array_agg(place ORDER BY place) = $5::bigint[] AND ${BEGUN} FROM there)
        RETURNING ${names})
      SELECT ${TALLIED.join(', ')}, count(*) AS count FROM moved GROUP BY ${TALLIED.join(', ')}`,
    values: [...spanOf(id, marks), letter!.to, instant(at), letter!.from],
  }
}
