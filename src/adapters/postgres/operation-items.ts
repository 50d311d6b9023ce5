import type { LetterMark } from '../../contracts/letters.ts'
import type { ItemMark, NewItem } from '../../contracts/operations.ts'
import type { ItemState } from '../../core/operation.ts'
import { instant, wordOf } from './keys.ts'
import { freeHolds } from './letter-removal.ts'
import { digestOf } from './letter-rows.ts'
import { readText, textOf } from './letter-words.ts'
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

type Tally = (state: string, because: string, by: number) => void

/** Sums of what one commit changes: a row of the tally for each, not for each item. */
const tallying = (ask: Ask, schema: string, operation: string) => {
  const sums = new Map<string, { state: string; because: string; by: number }>()
  const add: Tally = (state, because, by) => {
    const name = `${state}\n${because}`
    sums.set(name, { state, because, by: (sums.get(name)?.by ?? 0) + by })
  }
  const write = async (): Promise<void> => {
    const some = [...sums.values()].filter(({ by }) => by !== 0)
    if (some.length === 0) return
    await ask({
      name: `reprieve ${schema} tally items`,
      text: `
        INSERT INTO ${schema}.operation_tally AS t (operation, digest, state, because, count)
        SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[])
        ON CONFLICT (operation, digest) DO UPDATE SET count = t.count + excluded.count`,
      values: [
        operation,
        some.map(({ state, because }) => digestOf([state, because])),
        some.map(({ state }) => state),
        some.map(({ because }) => textOf(because)),
        some.map(({ by }) => by),
      ],
    })
  }
  return { add, write }
}

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

const found = (schema: string): string => `LATERAL (SELECT x.ctid AS row FROM ${schema}.operation_item AS x
  WHERE x.operation = $1 AND x.place = n.place OFFSET 0) AS found`

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
  const over = all.filter(({ mark: { to } }) => to === 'skipped' || to === 'failed')
  await freeHolds(
    ask,
    schema,
    over.map(({ item }) => item.word),
    operation,
  )
  const [first] = all
  if (all.every(({ mark }) => isAlike(mark, first!.mark))) {
    const { to, because = '', at } = first!.mark
    await ask({
      name: `reprieve ${schema} mark items alike`,
      text: `
        UPDATE ${schema}.operation_item AS i SET state = $3, because = $4, at = $5
        FROM unnest($2::bigint[]) AS n (place), ${found(schema)} WHERE i.ctid = found.row`,
      values: [operation, all.map(({ item }) => item.place), to, textOf(because), instant(at)],
    })
    await tally.write()
    return done
  }
  await ask({
    name: `reprieve ${schema} mark items`,
    text: `
      UPDATE ${schema}.operation_item AS i SET state = n.state, because = n.because, at = n.at
      FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[]) AS n (place, state, because, at),
        ${found(schema)} WHERE i.ctid = found.row`,
    values: [
      operation,
      all.map(({ item }) => item.place),
      all.map(({ mark }) => mark.to),
      all.map(({ mark }) => textOf(mark.because ?? '')),
      all.map(({ mark }) => instant(mark.at)),
    ],
  })
  await tally.write()
  return done
}

/** Within the transaction that marks letters, which are locked: those that came back from a replay end their items too. */
export const endItems = async (ask: Ask, schema: string, marks: readonly LetterMark[]): Promise<void> => {
  const back = marks.filter(({ to }) => to === 'resolved' || to === 'dead again')
  if (back.length === 0) return
  const { rows: held } = await ask({
    name: `reprieve ${schema} held`,
    text: `SELECT letter, operation, place FROM ${schema}.operation_hold WHERE letter = ANY ($1::text[])`,
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
