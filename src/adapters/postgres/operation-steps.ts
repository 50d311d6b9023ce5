import type { ItemMark } from '../../contracts/operations.ts'
import { type ActOnLetters, actOn } from '../../core/acts.ts'
import { appendAt, lockEnd } from './audit.ts'
import { instant, wordOf } from './keys.ts'
import { type Row, TALLIED, type Tallied, talliedOf } from './letter-rows.ts'
import { change, lockGroups } from './letter-tallies.ts'
import { changePlainly, isAlike } from './operation-marks.ts'
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
  const [first] = marks
  const goal = first?.letter?.to
  if (!first || !goal || goal === 'removed' || goal === 'resolved') return false
  if (first.to === 'skipped' || first.to === 'failed' || first.from.includes(first.to)) return false
  const sources = sourcesOf(first)
  return (
    marks.every(
      (mark) =>
        mark.letter?.id !== undefined &&
        isAlike(mark, first) &&
        mark.letter.to === goal &&
        sourcesOf(mark) === sources,
    ) && new Set(marks.map(({ place }) => place)).size === marks.length
  )
}

const sourcesOf = ({ from, letter }: ItemMark): string => `${from.join()} ${letter?.from.join()}`

/**
 * Marks letters and items by one statement each, which answer with sums: none of them is read again. Locks are taken in
 * the same order as everywhere; a row that another transaction changed meanwhile is passed over by its statement, and
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
  const ids = marks.map(({ letter }) => letter!.id!)
  const words = ids.map(wordOf)
  const [moved, row, changed] = await Promise.all([
    moveLetters(ask, schema, words, marks[0]!),
    lock(),
    changePlainly(ask, schema, operation, marks, words),
  ])
  if (!row) throw new OfAnotherVersion()
  if (moved.count !== marks.length || changed.count !== marks.length) throw new Uneven()
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
  if (act && end) await appendAt(last, schema, actOn(act, ids), end)
  return marks.map(() => true)
}

/** In the order of their ids, as they are locked everywhere. */
const moveLetters = async (ask: Ask, schema: string, words: readonly string[], { letter, at }: ItemMark) => {
  const names = TALLIED.map((name) => (name === 'state' ? 'was.state' : `l.${name}`)).join(', ')
  const { rows } = await ask({
    name: `reprieve ${schema} move letters`,
    text: `
      WITH moved AS (
        UPDATE ${schema}.letter AS l SET state = $2, state_at = $3
        FROM (SELECT id FROM unnest($1::text[]) AS n (id) ORDER BY id COLLATE "C" OFFSET 0) AS n, LATERAL (
          SELECT x.ctid AS row, x.state FROM ${schema}.letter AS x WHERE x.id = n.id OFFSET 0) AS was
        WHERE l.ctid = was.row AND was.state = ANY ($4::text[])
        RETURNING ${names})
      SELECT ${TALLIED.join(', ')}, count(*) AS count FROM moved GROUP BY ${TALLIED.join(', ')}`,
    values: [words, letter!.to, instant(at), letter!.from],
  })
  return {
    count: rows.reduce((sum, { count }) => sum + Number(count), 0),
    tallied: rows.map((row) => [talliedOf(row), Number(row.count)] as const),
  }
}
