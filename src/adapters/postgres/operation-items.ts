import type { NewItem } from '../../contracts/operations.ts'
import type { ItemState } from '../../core/operation.ts'
import { instant, wordOf } from './keys.ts'
import { readText, textOf } from './letter-words.ts'
import { tallying } from './operation-tallies.ts'
import type { Ask } from './pool.ts'

/** An item as it is known within a transaction that holds its operation. */
export interface KnownItem {
  readonly place: number
  /** Its id, and the word that it is kept as. */
  readonly letter: string
  readonly word: string
  readonly state: ItemState
  readonly because: string
}

/**
 * Items by a list of theirs, one look each. Of an operation that was just frozen the server knows nothing, and thinks it
 * cheaper to read all of its items to find some; OFFSET 0 leaves it no choice.
 */
const each = (schema: string): string => `
  LATERAL (SELECT * FROM ${schema}.operation_item AS x WHERE x.operation = $1 AND x.place = n.place OFFSET 0) AS i`

/** Within a transaction that holds the operation. */
export const addItems = async (
  ask: Ask,
  schema: string,
  operation: string,
  items: readonly NewItem[],
): Promise<void> => {
  const { rows } = await ask({
    name: `reprieve ${schema} known items`,
    text: `SELECT i.place, i.letter FROM unnest($2::bigint[]) AS n (place), ${each(schema)}
      UNION ALL SELECT h.place, h.letter FROM ${schema}.operation_hold AS h
      WHERE h.operation = $1 AND h.letter = ANY ($3::text[])`,
    values: [operation, items.map(({ place }) => place), items.map(({ letter }) => wordOf(letter))],
  })
  const places = new Set(rows.map(({ place }) => Number(place)))
  const words = new Set(rows.map(({ letter }) => letter as string))
  const fresh = items.filter(({ place, letter }) => {
    const known = places.has(place) || words.has(wordOf(letter))
    places.add(place)
    words.add(wordOf(letter))
    return !known
  })
  if (fresh.length === 0) return
  const held = await hold(
    ask,
    schema,
    operation,
    fresh.filter(({ state }) => state === 'waiting'),
  )
  const tally = tallying(ask, schema, operation)
  const as = fresh.map(({ letter, state, because = '' }) => {
    const free = state === 'skipped' || held.has(wordOf(letter))
    const kept = free ? ([state, because] as const) : (['skipped', 'in another operation'] as const)
    tally.add(...kept, 1)
    return kept
  })
  await ask({
    name: `reprieve ${schema} add items`,
    text: `
      INSERT INTO ${schema}.operation_item (operation, place, letter, name, state, because, at, repair)
      SELECT $1, * FROM
        unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])`,
    values: [
      operation,
      fresh.map(({ place }) => place),
      fresh.map(({ letter }) => wordOf(letter)),
      fresh.map(({ letter }) => (wordOf(letter) === letter ? null : textOf(letter))),
      as.map(([state]) => state),
      as.map(([, because]) => textOf(because)),
      fresh.map(({ at }) => instant(at)),
      fresh.map(({ repair = '' }) => repair),
    ],
  })
  await tally.write()
}

/** A hold of an operation that is over is taken over. Answers which letters are held by this one now. */
const hold = async (
  ask: Ask,
  schema: string,
  operation: string,
  items: readonly NewItem[],
): Promise<ReadonlySet<string>> => {
  if (items.length === 0) return new Set()
  const { rows } = await ask({
    name: `reprieve ${schema} hold`,
    text: `
      INSERT INTO ${schema}.operation_hold AS h (letter, operation, place)
      SELECT n.letter, $1, n.place FROM unnest($2::text[], $3::bigint[]) AS n (letter, place)
      ORDER BY n.letter COLLATE "C"
      ON CONFLICT (letter) DO UPDATE SET operation = excluded.operation, place = excluded.place
      WHERE NOT EXISTS (SELECT 1 FROM ${schema}.operation AS o WHERE o.number = h.operation AND o.live)
      RETURNING h.letter`,
    values: [operation, items.map(({ letter }) => wordOf(letter)), items.map(({ place }) => place)],
  })
  return new Set(rows.map(({ letter }) => letter as string))
}

export const itemsAt = async (
  ask: Ask,
  schema: string,
  operation: string,
  places: readonly number[],
): Promise<ReadonlyMap<number, KnownItem>> => {
  const { rows } = await ask({
    name: `reprieve ${schema} items at`,
    text: `SELECT i.place, i.letter, i.name, i.state, i.because FROM unnest($2::bigint[]) AS n (place),
      ${each(schema)}`,
    values: [operation, places],
  })
  return new Map(
    rows.map(({ place, letter, name, state, because }): [number, KnownItem] => {
      const word = letter as string
      return [
        Number(place),
        {
          place: Number(place),
          letter: name === null ? word : readText(name as string),
          word,
          state: state as ItemState,
          because: readText(because as string),
        },
      ]
    }),
  )
}
