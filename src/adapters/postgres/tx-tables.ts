import { ReprieveError } from '../../core/error.ts'
import { stateOf } from './trouble.ts'
import type { TheirPool } from './tx-client.ts'
import { inTransaction } from './tx-run.ts'

/** Ours, for those that start at once. */
const LOCK = 7_236_459_813

const tables = (schema: string): string => `
CREATE SCHEMA IF NOT EXISTS ${schema};
CREATE TABLE IF NOT EXISTS ${schema}.inbox (
  service text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, hash text NOT NULL, until bigint NOT NULL,
  PRIMARY KEY (service, id));
CREATE INDEX IF NOT EXISTS inbox_until ON ${schema}.inbox (until);
CREATE TABLE IF NOT EXISTS ${schema}.outbox (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL DEFAULT 0,
  order_key text COLLATE "C", event text NOT NULL, data bytea);
CREATE INDEX IF NOT EXISTS outbox_order ON ${schema}.outbox (order_key, seq) WHERE order_key IS NOT NULL;`

const THERE = `
SELECT count(*)::integer AS n FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname IN ('inbox', 'outbox')`

export const makeTables = async (pool: TheirPool, schema: string): Promise<void> => {
  try {
    await inTransaction(pool, async (client) => {
      const isThere = async () => (await client.query(THERE, [schema])).rows[0]?.n === 2
      if (await isThere()) return
      await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
      if (!(await isThere())) await client.query(tables(schema))
    })
  } catch (error) {
    if (stateOf(error) !== '42501') throw error
    throw new ReprieveError(
      'unavailable',
      `postgresTx: the user may not create tables in schema '${schema}'`,
      {
        fix: `let its owner run this once, and grant the user the right to use them:${tables(schema)}`,
        cause: error,
      },
    )
  }
}
