import type { Statement } from './client.ts'
import { wordOf } from './keys.ts'
import { type Line, lockLines } from './lines.ts'
import { PARKED } from './parcel-schema.ts'
import { type Addressed, rankAt, urgentOf } from './parcels.ts'
import type { Ask } from './pool.ts'

/** A long list is written in pieces: each is one message to the server. */
const MOST = 500
const MOST_BYTES = 4_000_000

export const inPieces = <T>(items: readonly T[], bytes: (item: T) => number): readonly (readonly T[])[] => {
  const pieces: T[][] = []
  let size = 0
  for (const item of items) {
    const own = bytes(item)
    const last = pieces.at(-1)
    if (last && last.length < MOST && size + own <= MOST_BYTES) {
      last.push(item)
      size += own
    } else {
      pieces.push([item])
      size = own
    }
  }
  return pieces
}

export const linesOf = (parcels: readonly Addressed[]): readonly Line[] =>
  parcels.flatMap(({ door, orderKey }) => (orderKey === null ? [] : [{ door: door.id, orderKey }]))

/**
 * Puts parcels behind all others of their doors, in the order given. With a version it writes nothing where a door
 * has changed since: then it answers false.
 */
export const insertParcels = async (
  ask: Ask,
  schema: string,
  parcels: readonly Addressed[],
  version?: number,
): Promise<boolean> => {
  for (const piece of inPieces(
    parcels,
    ({ written: { event, data } }) => event.length + (data?.length ?? 0),
  )) {
    if ((await ask(inserting(schema, piece, version))).rowCount === 0) return false
  }
  return true
}

/** The same, in a transaction of its own where lines have to be locked for it. */
export const insertAlone = async (
  pool: { readonly ask: Ask; transaction<T>(work: (ask: Ask) => Promise<T>): Promise<T> },
  schema: string,
  parcels: readonly Addressed[],
  version: number,
): Promise<boolean> => {
  const lines = linesOf(parcels)
  if (lines.length === 0) return insertParcels(pool.ask, schema, parcels, version)
  return pool.transaction(async (ask) => {
    await lockLines(ask, schema, lines)
    return insertParcels(ask, schema, parcels, version)
  })
}

const inserting = (schema: string, parcels: readonly Addressed[], version?: number): Statement => ({
  name: `reprieve ${schema} insert`,
  text: `
INSERT INTO ${schema}.parcel (subscription, rank, at, due, tried, urgent, generation, type, own_key, order_key,
  event_id, source, event, trail, data)
SELECT g.subscription, g.rank,
  CASE WHEN g.order_key IS NOT NULL AND (g.follows OR EXISTS (
    SELECT 1 FROM ${schema}.parcel AS p WHERE p.subscription = g.subscription AND p.order_key = g.order_key))
    THEN g.due + ${PARKED} ELSE g.due END,
  g.due, g.tried, g.urgent, g.generation, g.type, g.own_key, g.order_key, g.event_id, g.source, g.event, g.trail, g.data
FROM unnest($1::integer[], $2::smallint[], $3::bigint[], $4::boolean[], $5::boolean[], $6::integer[], $7::text[],
  $8::text[], $9::text[], $10::boolean[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[])
  AS g(subscription, rank, due, tried, urgent, generation, type, own_key, order_key, follows, event_id, source, event, trail, data)
WHERE $16::bigint IS NULL OR $16 = (SELECT count FROM ${schema}.subscription_change)`,
  values: [...columnsOf(parcels), version ?? null],
})

const columnsOf = (parcels: readonly Addressed[]): readonly (readonly unknown[])[] => {
  const written = parcels.map((parcel) => parcel.written)
  const seen = new Set<string>()
  const follows = parcels.map(({ door, orderKey }) => {
    const line = `${door.id} ${orderKey}`
    const behind = orderKey !== null && seen.has(line)
    seen.add(line)
    return behind
  })
  return [
    parcels.map(({ door }) => door.id),
    parcels.map((parcel) => rankAt(parcel.door, parcel.written)),
    parcels.map(({ due }) => due),
    written.map(({ spent }) => spent > 0),
    written.map(urgentOf),
    written.map(({ generation }) => generation),
    written.map(({ type }) => wordOf(type)),
    written.map(({ ownKey }) => ownKey),
    parcels.map(({ orderKey }) => orderKey),
    follows,
    written.map(({ eventId }) => eventId),
    written.map(({ source }) => source),
    written.map(({ event }) => event),
    written.map(({ trail }) => trail),
    written.map(({ data }) => data),
  ]
}
