import type { Outbox } from '../../contracts/tx.ts'
import { checkEvent, type Event } from '../../core/event.ts'
import { wordOf } from './keys.ts'
import type { TheirClient, TheirPool } from './tx-client.ts'
import { inTransaction } from './tx-run.ts'

/** Keeps events in the transaction that is open on the client. */
export const keepEvents = async (
  client: TheirClient,
  schema: string,
  events: readonly Event[],
): Promise<void> => {
  if (events.length === 0) return
  for (const event of events) checkEvent(event)
  const written = events.map(({ data: _, ...attributes }) => JSON.stringify(attributes))
  await client.query(
    `INSERT INTO ${schema}.outbox (order_key, event, data)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])`,
    [
      events.map(({ extensions: { orderkey } }) =>
        orderkey === undefined ? null : wordOf(String(orderkey)),
      ),
      written,
      events.map(({ data }) => data && Buffer.from(data)),
    ],
  )
}

/**
 * Rows are ours by their locks, which end with the connection: who dies leaves them at once to the others. Nobody passes
 * one of his order key that another has, or that waits for its time.
 */
const take = (schema: string): string => `
WITH batch AS MATERIALIZED (
  SELECT seq, order_key, event, data FROM ${schema}.outbox AS o
  WHERE at <= $1 AND (order_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM ${schema}.outbox AS e WHERE e.order_key = o.order_key AND e.seq < o.seq AND e.at > $1))
  ORDER BY seq LIMIT $2 FOR UPDATE SKIP LOCKED)
SELECT seq, event, data FROM batch AS b WHERE order_key IS NULL OR NOT EXISTS (
  SELECT 1 FROM ${schema}.outbox AS e WHERE e.order_key = b.order_key AND e.seq < b.seq
    AND e.seq NOT IN (SELECT seq FROM batch))
ORDER BY seq`

export const outboxIn = (pool: TheirPool, schema: string): Outbox => {
  const taking = take(schema)
  const waits = `SELECT 1 FROM ${schema}.outbox WHERE at <= $1 LIMIT 1`
  return {
    relay: (most, now, publish) =>
      inTransaction(pool, async (client) => {
        const at = Math.floor(now)
        if ((await client.query(waits, [at])).rowCount === 0) return 0
        const { rows } = await client.query(taking, [at, most])
        if (rows.length === 0) return 0
        const relayed = await publish(rows.map(readEvent))
        const seqs = rows.map(({ seq }) => seq as string)
        const gone = seqs.filter((_, i) => relayed[i] === true)
        await client.query(`DELETE FROM ${schema}.outbox WHERE seq = ANY ($1::bigint[])`, [gone])
        for (const [i, again] of relayed.entries())
          if (again !== true)
            await client.query(`UPDATE ${schema}.outbox SET at = $2 WHERE seq = $1`, [
              seqs[i],
              Math.ceil(again),
            ])
        return rows.length
      }),
    tidy: async (now) => {
      await inTransaction(pool, (client) =>
        client.query(
          `DELETE FROM ${schema}.inbox WHERE ctid = ANY (ARRAY (
             SELECT ctid FROM ${schema}.inbox WHERE until <= $1 LIMIT 10000 FOR UPDATE SKIP LOCKED))`,
          [Math.floor(now)],
        ),
      )
    },
  }
}

const readEvent = ({ event, data }: { event: string; data: Uint8Array | null }): Event => ({
  ...(JSON.parse(event) as Omit<Event, 'data'>),
  data: data && new Uint8Array(data),
})
