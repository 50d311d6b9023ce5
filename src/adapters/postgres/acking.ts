import { heldHere } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import type { Statement } from './client.ts'
import type { Door } from './doors.ts'
import { endedKept } from './ending.ts'
import type { Ask } from './pool.ts'
import type { Ready } from './ready.ts'

/** Most of what is settled: it is over, and nothing follows from it. */
export const isPlainAck = (door: Door, { settlement }: Ready): boolean =>
  settlement.do === 'ack' && !settlement.receipt && !door.ordered

/**
 * Ends claims and removes parcels in one statement, and so in one round trip. Rows are locked first, in the same order as by
 * `settleBatch`. Answers with those that are over. Of the others some may stand in a line by now, for the rules changed
 * while they were out: that is for `settleBatch` to find out.
 */
export const ackAll = async (
  ask: Ask,
  schema: string,
  batch: readonly Ready[],
  now: Instant,
): Promise<ReadonlySet<Ready>> => {
  const first = new Map(batch.map((each) => [each.handle.id, each] as const).reverse())
  const { rows } = await ask(acking(schema, [...first.values()].sort(byId), now))
  return new Set(rows.map(({ id }) => first.get(id as string)!))
}

const byId = (a: Ready, b: Ready): number => Number(a.handle.id) - Number(b.handle.id)

const acking = (schema: string, batch: readonly Ready[], now: Instant): Statement => {
  const ends = batch.map(({ settlement }) => {
    const held = heldHere(settlement.delivery.claim)
    return held && { token: held.token, ...endedKept(held, 'done', now) }
  })
  return {
    name: `reprieve ${schema} ack`,
    text: `
WITH mine AS MATERIALIZED (
  SELECT g.* FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::integer[], $7::bigint[])
    AS g(id, token, service, key, claim, attempt, until)
  CROSS JOIN LATERAL (SELECT 1 FROM ${schema}.parcel AS p
    WHERE p.id = g.id AND p.token = g.token AND p.order_key IS NULL FOR UPDATE) AS p),
held AS MATERIALIZED (
  SELECT m.* FROM (SELECT * FROM mine ORDER BY service COLLATE "C", key COLLATE "C") AS m CROSS JOIN LATERAL (SELECT 1 FROM ${schema}.ledger AS l
    WHERE l.service = m.service AND l.id = m.key AND l.token = m.claim AND l.state = 0 FOR UPDATE) AS l),
ended AS (
  UPDATE ${schema}.ledger AS l SET state = 2, attempt = h.attempt, until = h.until, crashes = 0 FROM held AS h
  WHERE l.service = h.service AND l.id = h.key AND l.token = h.claim AND l.state = 0 RETURNING h.id)
DELETE FROM ${schema}.parcel AS p WHERE p.id = ANY (ARRAY (
  SELECT id FROM mine WHERE claim IS NULL UNION ALL SELECT id FROM ended)) RETURNING p.id`,
    values: [
      batch.map(({ handle }) => handle.id),
      batch.map(({ handle }) => handle.token),
      ends.map((end) => end?.name.service ?? null),
      ends.map((end) => end?.name.id ?? null),
      ends.map((end) => end?.token ?? null),
      ends.map((end) => end?.row.attempt ?? null),
      ends.map((end) => end?.row.until ?? null),
    ],
  }
}
