import type { DeadKey } from '../../contracts/transport.ts'
import { wordOf } from './keys.ts'
import { letNextGo, lockLines } from './lines.ts'
import { BURIED, PARKED } from './parcel-schema.ts'
import { type Addressed, type Row, rankAt, readEvent, urgentOf } from './parcels.ts'
import type { Ask, Pool } from './pool.ts'

/**
 * Keys held behind a dead letter. The row of the dead event stays, as the head of its line: so its followers wait as
 * they do behind a retry, a replay comes to life in its old place, and to free the key is to take the row away.
 */
const keysOf = (keys: readonly DeadKey[]) => [
  keys.map(({ orderKey }) => wordOf(orderKey)),
  keys.map(({ letter }) => wordOf(letter)),
]

export const releaseKeys = (pool: Pool, schema: string, door: number, keys: readonly DeadKey[]) =>
  pool.transaction(async (ask) => {
    const lines = keys.map(({ orderKey }) => ({ door, orderKey: wordOf(orderKey) }))
    await lockLines(ask, schema, lines)
    const { rows } = await ask({
      text: `DELETE FROM ${schema}.parcel AS p USING unnest($2::text[], $3::text[]) AS g(key, letter)
        WHERE p.subscription = $1 AND p.order_key = g.key AND p.at = ${BURIED} AND p.letter = g.letter
        RETURNING p.order_key`,
      values: [door, ...keysOf(keys)],
    })
    if (rows.length === 0) return
    await letNextGo(
      ask,
      schema,
      rows.map(({ order_key }) => ({ door, orderKey: order_key as string })),
    )
  })

export const countBehind = async (
  ask: Ask,
  schema: string,
  door: number,
  keys: readonly DeadKey[],
): Promise<readonly number[]> => {
  const { rows } = await ask({
    text: `SELECT (SELECT count(*) FROM ${schema}.parcel AS p
        WHERE p.subscription = $1 AND p.order_key = g.key AND p.at >= ${PARKED} AND EXISTS (
          SELECT 1 FROM ${schema}.parcel AS d WHERE d.subscription = $1 AND d.order_key = g.key
            AND d.at = ${BURIED} AND d.letter = g.letter)) AS behind
      FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS g(key, letter, place) ORDER BY place`,
    values: [door, ...keysOf(keys)],
  })
  return rows.map(({ behind }) => Number(behind))
}

/** A parcel that is forwarded, with the letter it is a replay of. */
export interface Forwarded extends Addressed {
  readonly letter: string | undefined
}

/**
 * A parcel that is forwarded may be known in the line of its key. The replay of a dead head takes its place; what
 * stands there already, or has died there, came twice because a process died between its forward and its ack: to put it
 * behind later ones would turn the order round. Answers with those that are new. Under the locks of their lines.
 */
export const notInLine = async (
  ask: Ask,
  schema: string,
  parcels: readonly Forwarded[],
): Promise<readonly Forwarded[]> => {
  const ordered = parcels.filter(({ orderKey }) => orderKey !== null)
  const { rows } = await ask({
    name: `reprieve ${schema} line`,
    text: `SELECT p.id, p.event_id, p.order_key, p.source, p.letter, p.generation, p.event, p.data
      FROM (SELECT DISTINCT event_id FROM unnest($2::text[]) AS u(event_id)) AS g
      JOIN ${schema}.parcel AS p ON p.subscription = $1 AND p.event_id = g.event_id AND p.order_key IS NOT NULL`,
    values: [parcels[0]!.door.id, ordered.map(({ written }) => written.eventId)],
  })
  const lines = Map.groupBy(rows.map(standingOf), ({ name }) => name)
  const fresh: Forwarded[] = []
  for (const parcel of parcels) {
    if (parcel.orderKey === null) {
      fresh.push(parcel)
      continue
    }
    const own = comingOf(parcel)
    const line = lines.get(own.name) ?? []
    const dead = line.find(({ letter }) => letter !== null && letter === parcel.letter)
    if (dead) {
      await revive(ask, schema, dead.id, parcel)
      line.splice(line.indexOf(dead), 1, { ...own, id: dead.id })
    } else if (!line.some((standing) => isSame(standing, own))) {
      fresh.push(parcel)
      lines.set(own.name, [...line, own])
    }
  }
  return fresh
}

/** What stands in a line, or comes to it. */
interface Standing {
  /** Of the event within its line. */
  readonly name: string
  readonly id: string
  readonly letter: string | null
  readonly generation: number
  readonly correlation: string
  readonly data: Uint8Array | null
}

const standingOf = (row: Row): Standing => {
  const event = readEvent(row)
  return {
    name: JSON.stringify([row.event_id, row.order_key, row.source]),
    id: row.id as string,
    letter: row.letter as string | null,
    generation: row.generation as number,
    correlation: String(event.extensions.correlationid ?? ''),
    data: event.data,
  }
}

const comingOf = ({ written, orderKey }: Forwarded): Standing => {
  const { extensions } = JSON.parse(written.event) as { extensions: { correlationid?: string } }
  return {
    name: JSON.stringify([written.eventId, orderKey, written.source]),
    id: '',
    letter: null,
    generation: written.generation,
    correlation: String(extensions.correlationid ?? ''),
    data: written.data,
  }
}

const isSame = (standing: Standing, own: Standing): boolean => {
  if (standing.generation < own.generation || standing.correlation !== own.correlation) return false
  if (standing.data === null || own.data === null) return standing.data === own.data
  return Buffer.compare(standing.data, own.data) === 0
}

const revive = async (
  ask: Ask,
  schema: string,
  id: string,
  { door, written, due }: Forwarded,
): Promise<void> => {
  const { type, event, trail, data, spent, generation, ownKey } = written
  await ask({
    text: `UPDATE ${schema}.parcel SET rank = $2, at = $3, due = $3, token = token + 1, deliveries = 0, letter = NULL,
        type = $4, event = $5, trail = $6, data = $7, tried = $8, urgent = $9, generation = $10, own_key = $11
      WHERE id = $1`,
    values: [
      ...[id, rankAt(door, written), due, wordOf(type), event, trail, data],
      ...[spent > 0, urgentOf(written), generation, ownKey],
    ],
  })
}
