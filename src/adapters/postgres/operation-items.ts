import type { NewItem } from '../../contracts/operations.ts'
import type { ItemState } from '../../core/operation.ts'
import type { Statement } from './client.ts'
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

/**
 * Who takes holds, or removes letters and so frees those of others, does it alone, and says so before it locks letters or
 * items: what is taken over is freed before anything is put in, so that two of them could not keep to one order of letters.
 */
export const lockHolds = async (ask: Ask, schema: string): Promise<void> => {
  await ask({
    name: `reprieve ${schema} lock holds`,
    text: 'SELECT pg_advisory_xact_lock($1::integer, hashtext($2))',
    values: [HOLDS, schema],
  })
}

const HOLDS = 1_415_926_535

/** Mostly nobody has any of them, and none is here: then a plain statement puts them in, and else it is undone. */
export const canBeFresh = (items: readonly NewItem[]): boolean => items.every(isWaiting)

/** Within a transaction that holds the operation, and fails where one of them is held or here. */
export const addFresh = async (ask: Ask, schema: string, operation: string, items: readonly NewItem[]) => {
  const tally = tallying(ask, schema, operation)
  for (const { state, because = '' } of items) tally.add(state, because, 1)
  await Promise.all([
    lockHolds(ask, schema),
    ask(inserting(schema, operation, items, 'fresh')),
    tally.write(),
  ])
}

/** Within a transaction that holds the operation. */
export const addItems = async (ask: Ask, schema: string, operation: string, items: readonly NewItem[]) => {
  const tally = tallying(ask, schema, operation)
  /** Answers with those whose letters others hold. */
  const add = async (some: readonly NewItem[]): Promise<readonly NewItem[]> => {
    if (some.length === 0) return []
    const { rows } = await ask(inserting(schema, operation, some, 'any'))
    const added = new Set(rows.map(({ place }) => Number(place)))
    for (const { place, state, because = '' } of some) if (added.has(place)) tally.add(state, because, 1)
    return some.filter(({ place }) => !added.has(place))
  }
  await lockHolds(ask, schema)
  const fresh = await unknownOf(ask, schema, operation, unlike(items))
  await takeOver(ask, schema, operation, fresh.filter(isWaiting))
  const held = await add(fresh)
  await add(held.map((item) => ({ ...item, state: 'skipped', because: 'in another operation' })))
  await tally.write()
}

const isWaiting = ({ state }: NewItem): boolean => state === 'waiting'

/** Of several with one place or one letter the first. */
const unlike = (items: readonly NewItem[]): readonly NewItem[] => {
  const places = new Set<number>()
  const words = new Set<string>()
  return items.filter(({ place, letter }) => {
    const word = wordOf(letter)
    const known = places.has(place) || words.has(word)
    places.add(place)
    words.add(word)
    return !known
  })
}

/** Those whose place is not taken here, and whose letter doesn't wait here. */
const unknownOf = async (
  ask: Ask,
  schema: string,
  operation: string,
  items: readonly NewItem[],
): Promise<readonly NewItem[]> => {
  const { rows } = await ask({
    name: `reprieve ${schema} known items`,
    text: `SELECT i.place, i.letter FROM unnest($2::bigint[]) AS n (place), ${each(schema)}
      UNION ALL SELECT h.place, h.letter FROM ${schema}.operation_item AS h
      WHERE h.letter = ANY ($3::text[]) AND h.held AND h.operation = $1`,
    values: [operation, items.map(({ place }) => place), items.map(({ letter }) => wordOf(letter))],
  })
  const places = new Set(rows.map(({ place }) => Number(place)))
  const words = new Set(rows.map(({ letter }) => letter as string))
  return items.filter(({ place, letter }) => !places.has(place) && !words.has(wordOf(letter)))
}

/** What operations that are over hold of these letters is free. */
const takeOver = async (
  ask: Ask,
  schema: string,
  operation: string,
  items: readonly NewItem[],
): Promise<void> => {
  if (items.length === 0) return
  // in their order, as everywhere, and before their items: they may be marked at this moment
  await ask({
    name: `reprieve ${schema} lock over`,
    text: `SELECT 1 FROM ${schema}.operation WHERE NOT live AND number = ANY (ARRAY (
        SELECT i.operation FROM ${schema}.operation_item AS i
        WHERE i.letter = ANY ($2::text[]) AND i.held AND i.operation <> $1))
      ORDER BY number FOR UPDATE`,
    values: [operation, items.map(({ letter }) => wordOf(letter))],
  })
  await ask({
    name: `reprieve ${schema} take over`,
    text: `
      WITH over AS MATERIALIZED (
        SELECT i.operation, i.place FROM ${schema}.operation_item AS i
        WHERE i.letter = ANY ($2::text[]) AND i.held AND i.operation <> $1
          AND NOT EXISTS (SELECT 1 FROM ${schema}.operation AS o WHERE o.number = i.operation AND o.live)
        ORDER BY i.letter FOR UPDATE OF i)
      UPDATE ${schema}.operation_item AS i SET held = false FROM over
      WHERE i.operation = over.operation AND i.place = over.place`,
    values: [operation, items.map(({ letter }) => wordOf(letter))],
  })
}

/** In the order of their letters, whoever else adds the same. What all of a column have alike is not said for each. */
const inserting = (
  schema: string,
  operation: string,
  items: readonly NewItem[],
  which: 'fresh' | 'any',
): Statement => {
  const words = items.map(({ letter }) => wordOf(letter))
  const at = instant(items[0]?.at ?? 0)
  return {
    name: `reprieve ${schema} add ${which}`,
    text: `
      INSERT INTO ${schema}.operation_item (operation, place, letter, name, state, because, at, repair, held)
      SELECT $1, n.place, n.letter, n.name, coalesce(n.state, 'waiting'), coalesce(n.because, ''), coalesce(n.at, $9),
        coalesce(n.repair, ''), coalesce(n.state, 'waiting') = 'waiting' FROM
        unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])
          AS n (place, letter, name, state, because, at, repair)
      ORDER BY n.letter COLLATE "C" ${which === 'any' ? 'ON CONFLICT DO NOTHING RETURNING place' : ''}`,
    values: [
      operation,
      items.map(({ place }) => place),
      words,
      unlessAll(
        items.map(({ letter }, n) => (words[n] === letter ? null : textOf(letter))),
        null,
      ),
      unlessAll(
        items.map(({ state }) => state),
        'waiting',
      ),
      unlessAll(
        items.map(({ because = '' }) => textOf(because)),
        '',
      ),
      unlessAll(
        items.map((item) => instant(item.at)),
        at,
      ),
      unlessAll(
        items.map(({ repair = '' }) => repair),
        '',
      ),
      at,
    ],
  }
}

const unlessAll = <T>(values: readonly T[], same: T): readonly T[] =>
  values.every((value) => value === same) ? [] : values

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
