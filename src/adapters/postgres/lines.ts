import { hash } from 'node:crypto'
import { PARKED } from './parcel-schema.ts'
import type { Ask } from './pool.ts'

/**
 * Order by key. Only the first unsettled parcel of a key can be taken; those behind it are parked, and the next is let go
 * when the first is settled for good. So a key in retry holds up its followers, on however many hosts they are taken, and
 * taking never has to step over them.
 *
 * Whoever puts a parcel in a line, or changes who stands first in it, holds the line's lock until the commit: of two that publish
 * to one key the second sees the first one's parcel, and its own has the larger id. Taking needs no such lock.
 *
 * Who needs several locks takes them in one order: the rows of deliveries by their ids, claims in the ledger by their names, lines by
 * their numbers, and last rows that only a line's holder changes: those that are parked, or buried.
 */
export interface Line {
  readonly door: number
  readonly orderKey: string
}

/** Locks of a line are shared by some keys: the server has room for a few thousand, whatever the size of a batch. */
const LOCKS = 64

/** For `pg_advisory_xact_lock(a, b)`: a number for each door of each schema, and one of its few for the key. */
const lockOf = (schema: string, { door, orderKey }: Line): readonly [number, number] => [
  numberOf(`reprieve line ${schema} ${door}`),
  Math.abs(numberOf(orderKey)) % LOCKS,
]

const numberOf = (text: string): number => hash('sha1', text, 'buffer').readInt32BE(0)

export const lockLines = async (ask: Ask, schema: string, lines: readonly Line[]): Promise<void> => {
  const locks = new Map(lines.map((line) => lockOf(schema, line)).map((lock) => [lock.join(), lock]))
  const sorted = [...locks.values()].sort(([a, b], [c, d]) => a - c || b - d)
  await ask({
    text: 'SELECT pg_advisory_xact_lock(a, b) FROM unnest($1::integer[], $2::integer[]) AS l(a, b)',
    values: [sorted.map(([a]) => a), sorted.map(([, b]) => b)],
  })
}

/** Lets the next of each line go, when its first is gone. Under the locks of these lines. */
export const letNextGo = async (ask: Ask, schema: string, lines: readonly Line[]): Promise<void> => {
  await ask({
    name: `reprieve ${schema} next`,
    text: `UPDATE ${schema}.parcel SET at = due WHERE at >= ${PARKED} AND id = ANY (ARRAY (
      SELECT (SELECT p.id FROM ${schema}.parcel AS p
        WHERE p.subscription = g.door AND p.order_key = g.key ORDER BY p.subscription, p.order_key, p.id LIMIT 1)
      FROM unnest($1::integer[], $2::text[]) AS g(door, key)))`,
    values: [lines.map(({ door }) => door), lines.map(({ orderKey }) => orderKey)],
  })
}
