import type { Claim, LedgerKey } from '../../core/ledger.ts'
import { type Rank, shareOf, TURNS, type Turns, takeInTurn } from '../../core/rank.ts'
import type { Instant } from '../../core/time.ts'
import type { Statement } from './client.ts'
import type { Door } from './doors.ts'
import { HANDLE, type Taken } from './holding.ts'
import { PARKED } from './parcel-schema.ts'
import { type Row, readParcel } from './parcels.ts'
import { forEachRank, RANKS } from './ranks.ts'

/** What an inlet wants to take. */
export interface Wish {
  readonly max: number
  readonly turns: Turns
  readonly now: Instant
  /** The lease of what it takes. */
  readonly until: Instant
  /** Types to pass by, as words of their column. */
  readonly passing: readonly string[]
}

/** What lay at a destination longer than it keeps is as good as gone. */
export const oldestKept = ({ expire }: Door, now: Instant): Instant =>
  expire === undefined ? -1 : Math.floor(now - expire)

const READY = 'at > $2 AND at <= $3 AND type <> ALL ($4::text[])'

/** Whether anything is ready, and when something that is not yet will be. */
export const looking = (
  schema: string,
  door: Door,
  { now, passing }: Pick<Wish, 'now' | 'passing'>,
): Statement => {
  const of = (rank: number) => `FROM ${schema}.parcel WHERE subscription = $1 AND rank = ${rank}`
  const ready = (rank: number) => `EXISTS (SELECT 1 ${of(rank)} AND ${READY})`
  const next = (rank: number) => `SELECT at ${of(rank)} AND at > $3 AND at < ${PARKED} ORDER BY at LIMIT 1`
  return {
    name: `reprieve ${schema} look`,
    text: `SELECT ${forEachRank(ready, ' OR ')} AS ready, least(${forEachRank(next, ', ')}) AS next`,
    values: [door.id, oldestKept(door, now), Math.floor(now), passing],
  }
}

/**
 * Takes in turn, as `takeInTurn` does, in one statement: locks no row that it does not take, and waits for none. Of rows that
 * another is about to take it knows nothing.
 */
export const takingSome = (schema: string, door: Door, wish: Wish): Statement => {
  const { max, turns, now, until, passing } = wish
  const ready = (rank: Rank, most: string, and = '') => `MATERIALIZED (
    SELECT id, at FROM ${schema}.parcel WHERE subscription = $1 AND rank = ${RANKS[rank]} AND ${READY} ${and}
    ORDER BY at, id LIMIT (${most}) FOR UPDATE SKIP LOCKED)`
  return {
    name: `reprieve ${schema} take`,
    text: `
WITH urgent AS ${ready('urgent', 'SELECT $5::bigint')},
room AS MATERIALIZED (SELECT $5::bigint - count(*) AS n FROM urgent),
turn AS ${ready('retry', `SELECT greatest(0, least(($6::bigint + n) / ${TURNS}, $7::bigint)) FROM room`)},
fresh AS ${ready('fresh', 'SELECT n - (SELECT count(*) FROM turn) FROM room')},
more AS ${ready(
      'retry',
      'SELECT n - (SELECT count(*) FROM turn) - (SELECT count(*) FROM fresh) FROM room',
      'AND id NOT IN (SELECT id FROM turn)',
    )},
chosen AS (SELECT * FROM urgent UNION ALL SELECT * FROM turn UNION ALL SELECT * FROM fresh UNION ALL SELECT * FROM more)
UPDATE ${schema}.parcel AS p SET at = $8, token = token + 1, deliveries = deliveries + 1
FROM chosen AS c WHERE p.id = c.id
RETURNING p.id, p.rank, p.token, p.deliveries, p.due, p.event, p.trail, p.data, c.at AS was`,
    values: [
      ...[door.id, oldestKept(door, now), Math.floor(now), passing, max],
      ...[turns.passed, shareOf(turns.window) - turns.retrying, until],
    ],
  }
}

/** In the order in which they are handed over, with how the turns stand after it. */
export const inTurn = (
  rows: readonly Row[],
  { max, turns }: Wish,
): { rows: readonly Row[]; passed: number } => {
  const sorted = [...rows].sort((a, b) => Number(a.was) - Number(b.was) || Number(a.id) - Number(b.id))
  const of = (rank: Rank) => sorted.filter((row) => row.rank === RANKS[rank])
  const left = { urgent: of('urgent'), fresh: of('fresh'), retry: of('retry') }
  const { taken, passed } = takeInTurn(max, turns, (rank, most) => left[rank].splice(0, most))
  // of what became ready in between there may be more than its turn
  return { rows: [...taken, ...left.urgent, ...left.fresh, ...left.retry], passed }
}

export const deliveryOf = (row: Row, until: Instant): Taken => {
  const parcel = readParcel(row)
  const redelivered = (row.deliveries as number) > 1 || parcel.trail.spent > 0
  const handle = { id: row.id as string, token: Number(row.token), rank: row.rank as number, until }
  return { parcel, redelivered, [HANDLE]: handle }
}

/** Which of them need a claim, and what they are with it. */
export const withClaims = async (
  taken: readonly Taken[],
  keyOf: (delivery: Taken) => LedgerKey | undefined,
  claim: (keys: readonly LedgerKey[]) => Promise<readonly Claim[]>,
): Promise<readonly Taken[]> => {
  const keys = taken.map(keyOf)
  const asked = keys.filter((key) => key !== undefined)
  if (asked.length === 0) return taken
  const claims = [...(await claim(asked))]
  return taken.map((delivery, at) => (keys[at] ? { ...delivery, claim: claims.shift()! } : delivery))
}

/** A destination with an end to its patience: what lay there longer is dropped, some at a time. */
export const droppingExpired = (schema: string, door: Door, now: Instant): Statement => ({
  name: `reprieve ${schema} expire`,
  text: `DELETE FROM ${schema}.parcel WHERE id = ANY (ARRAY (
    SELECT id FROM ${schema}.parcel WHERE subscription = $1 AND rank = ${RANKS.fresh} AND at <= $2
    ORDER BY at, id LIMIT 100 FOR UPDATE SKIP LOCKED))`,
  values: [door.id, oldestKept(door, now)],
})
