import type { LetterMark } from '../../contracts/letters.ts'
import type { ItemMark } from '../../contracts/operations.ts'
import type { Statement } from './client.ts'
import { instant, wordOf } from './keys.ts'
import { digestOf } from './letter-rows.ts'
import { textOf } from './letter-words.ts'
import { itemsAt, type KnownItem } from './operation-items.ts'
import { tallying } from './operation-tallies.ts'
import { type Ask, BEGUN } from './pool.ts'
import { collision } from './trouble.ts'

const found = (schema: string): string => `LATERAL (SELECT x.ctid AS row FROM ${schema}.operation_item AS x
  WHERE x.operation = $1 AND x.place = n.place OFFSET 0) AS found`

/** No longer held by its operation. */
const isFreed = ({ to }: ItemMark): boolean => to === 'skipped' || to === 'failed'

const isAlike = (a: ItemMark, b: ItemMark): boolean =>
  a.to === b.to && a.because === b.because && a.at === b.at

/** Within a transaction that holds the operation. An item that several marks name is changed by the first that can. */
export const markItems = async (
  ask: Ask,
  schema: string,
  operation: string,
  known: ReadonlyMap<number, KnownItem>,
  marks: readonly ItemMark[],
  may: (mark: ItemMark, item: KnownItem) => boolean = () => true,
): Promise<readonly boolean[]> => {
  const changed = new Map<number, { readonly item: KnownItem; readonly mark: ItemMark }>()
  const done = marks.map((mark) => {
    const item = known.get(mark.place)
    if (!item || changed.has(mark.place) || !mark.from.includes(item.state) || !may(mark, item)) return false
    changed.set(mark.place, { item, mark })
    return true
  })
  const all = [...changed.values()]
  if (all.length === 0) return done
  const tally = tallying(ask, schema, operation)
  for (const { item, mark } of all) {
    tally.add(item.state, item.because, -1)
    tally.add(mark.to, mark.because ?? '', 1)
  }
  const { rowCount } = await ask({
    name: `reprieve ${schema} mark items`,
    text: `
      UPDATE ${schema}.operation_item AS i
      SET state = n.state, because = n.because, at = n.at, held = i.held AND NOT n.freed
      FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
        AS n (place, state, because, at, freed), ${found(schema)} WHERE i.ctid = found.row`,
    values: [
      operation,
      all.map(({ item }) => item.place),
      all.map(({ mark }) => mark.to),
      all.map(({ mark }) => textOf(mark.because ?? '')),
      all.map(({ mark }) => instant(mark.at)),
      all.map(({ mark }) => isFreed(mark)),
    ],
  })
  // the hold of one that is over may be taken at this moment: then all is looked up anew
  if (rowCount !== all.length) throw collision()
  await tally.write()
  return done
}

/** All are to become the same from something else, no hold is touched by it, and the places are in order, each named once. */
export const isSpan = (marks: readonly ItemMark[]): boolean => {
  const [first] = marks
  if (!first || isFreed(first) || first.from.includes(first.to)) return false
  const from = first.from.join()
  return marks.every(
    (mark, i) =>
      isAlike(mark, first) && mark.from.join() === from && (i === 0 || mark.place > marks[i - 1]!.place),
  )
}

/** What lies between the first place and the last in one of the states, as `spanOf` gives them. */
export const inSpan = (schema: string): string =>
  `i.operation = ${numberIn(schema)} AND i.place BETWEEN $2 AND $3 AND i.state = ANY ($4::text[])`
const numberIn = (schema: string): string => `(SELECT o.number FROM ${schema}.operation AS o WHERE o.id = $1)`

export const spanOf = (id: string, marks: readonly ItemMark[]): readonly unknown[] => {
  const places = marks.map(({ place }) => place)
  return [wordOf(id), places[0], places.at(-1), marks[0]!.from, places]
}

/**
 * The same as `markItems` of such marks, with their tallies, by one statement that walks along the places: what each was
 * need not be known here. Goes with the beginning. Where they are not all that lies there in those states nothing is done.
 */
export const markSpan = (schema: string, id: string, marks: readonly ItemMark[]): Statement => {
  const { to, because = '', at } = marks[0]!
  return {
    name: `reprieve ${schema} mark span`,
    text: `
      WITH there AS MATERIALIZED (
        SELECT i.place, i.state, i.because FROM ${schema}.operation_item AS i WHERE ${inSpan(schema)}),
      whole AS MATERIALIZED (SELECT array_agg(place ORDER BY place) = $5::bigint[] AND ${BEGUN} AS yes FROM there),
      changed AS (
        UPDATE ${schema}.operation_item AS i SET state = $6, because = $7, at = $8
        WHERE ${inSpan(schema)} AND (SELECT yes FROM whole)),
      sums AS (SELECT state, because, count(*) AS count FROM there WHERE (SELECT yes FROM whole) GROUP BY 1, 2),
      less AS (
        UPDATE ${schema}.operation_tally AS t SET count = t.count - sums.count FROM sums
        WHERE t.operation = ${numberIn(schema)} AND t.state = sums.state AND t.because = sums.because),
      more AS (
        INSERT INTO ${schema}.operation_tally AS t (operation, digest, state, because, count)
        SELECT ${numberIn(schema)}, $9, $6, $7, sum(count) FROM sums HAVING sum(count) > 0
        ON CONFLICT (operation, digest) DO UPDATE SET count = t.count + excluded.count)
      SELECT 1 FROM whole WHERE yes`,
    values: [...spanOf(id, marks), to, textOf(because), instant(at), digestOf([to, because])],
  }
}

/** Within the transaction that marks letters, which are locked: those that came back from a replay end their items too. */
export const endItems = async (ask: Ask, schema: string, marks: readonly LetterMark[]): Promise<void> => {
  const back = marks.filter(({ to }) => to === 'resolved' || to === 'dead again')
  if (back.length === 0) return
  const { rows: held } = await ask({
    name: `reprieve ${schema} held`,
    text: `SELECT letter, operation, place FROM ${schema}.operation_item
      WHERE letter = ANY ($1::text[]) AND held`,
    values: [[...new Set(back.map(({ id }) => wordOf(id)))]],
  })
  if (held.length === 0) return
  const holds = new Map(held.map((row) => [row.letter as string, row]))
  const operations = [...new Set(held.map(({ operation }) => operation as string))]
  await ask({
    text: `SELECT 1 FROM ${schema}.operation WHERE number = ANY ($1::bigint[]) ORDER BY number FOR UPDATE`,
    values: [operations],
  })
  for (const operation of operations) {
    const ends = back.flatMap(({ id, to, at }): ItemMark[] => {
      const hold = holds.get(wordOf(id))
      if (hold?.operation !== operation) return []
      return [
        { place: Number(hold.place), from: ['sending', 'sent'], to: to as 'resolved' | 'dead again', at },
      ]
    })
    const known = await itemsAt(
      ask,
      schema,
      operation,
      ends.map(({ place }) => place),
    )
    await markItems(ask, schema, operation, known, ends)
  }
}
