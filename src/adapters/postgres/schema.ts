import type { Ask, Pool } from './pool.ts'
import { differs, stateOf, unavailable } from './trouble.ts'

export const VERSION = 2
/** As the server counts: 14. */
export const OLDEST = 140_000

/** One of our own, for `pg_advisory_xact_lock`: those that open at once make the tables one after another. */
export const LOCK = 7_236_459_812

/**
 * Sorted by bytes (COLLATE "C"), so that every process locks rows in the same order, and a beginning of a name is a
 * range. A row is written two or three times and no index but the key's knows what changes: with room on its page it
 * is changed in place.
 */
const tables = (schema: string): string => `
CREATE SCHEMA IF NOT EXISTS ${schema};
CREATE TABLE ${schema}.meta (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO ${schema}.meta VALUES ('schema', ${VERSION});

CREATE TABLE ${schema}.ledger (
  service text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hash text NOT NULL,
  state smallint NOT NULL,
  generation integer NOT NULL,
  attempt integer NOT NULL,
  crashes integer NOT NULL,
  begun boolean NOT NULL DEFAULT false,
  token bigint NOT NULL,
  until bigint NOT NULL,
  holder text NOT NULL,
  PRIMARY KEY (service, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE ${schema}.board (
  entry text COLLATE "C" PRIMARY KEY,
  value text NOT NULL,
  version bigint NOT NULL,
  until bigint NOT NULL
);
CREATE SEQUENCE ${schema}.board_version;`

/** Makes the tables where they are missing. Any number of processes may do so at once. */
export const makeReady = async (pool: Pool, schema: string): Promise<void> => {
  const { rows } = await pool.ask({ text: SERVER })
  const { encoding, version } = rows[0] as { encoding: string; version: number }
  if (encoding !== 'UTF8') {
    throw differs(
      pool.place,
      `the database is kept in ${encoding}`,
      'use a database in UTF8, which can hold every id',
    )
  }
  if (version < OLDEST) {
    throw differs(
      pool.place,
      `the server is PostgreSQL ${Math.floor(version / 10_000)}`,
      'use PostgreSQL 14 or newer',
    )
  }
  if (!(await isThere(pool.ask, schema))) await create(pool, schema)
  const { rows: found } = await pool.ask({ text: `SELECT value FROM ${schema}.meta WHERE name = 'schema'` })
  check(pool.place, schema, Number(found[0]?.value))
}

const SERVER = `
SELECT current_setting('server_encoding') AS encoding, current_setting('server_version_num')::integer AS version`

/** Read from the catalogue as rows: what the server remembers of names may be older than the lock that we waited for. */
const THERE = `
SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = 'meta'`

const isThere = async (ask: Ask, schema: string): Promise<boolean> =>
  (await ask({ text: THERE, values: [schema] })).rows.length > 0

const create = async (pool: Pool, schema: string): Promise<void> => {
  try {
    await pool.transaction(async (ask) => {
      await ask({ text: `SELECT pg_advisory_xact_lock(${LOCK})` })
      if (!(await isThere(ask, schema))) await ask({ text: tables(schema) })
    })
  } catch (error) {
    if (stateOf(error) !== '42501') throw error
    const fix = `let its owner say: CREATE SCHEMA ${schema} AUTHORIZATION <our user>`
    throw unavailable(pool.place, `the user may not create the schema '${schema}' (42501)`, error, fix)
  }
}

const check = (place: string, schema: string, there: number): void => {
  if (there === VERSION) return
  throw differs(
    place,
    `the schema '${schema}' is of version ${there}, and this program knows ${VERSION}`,
    'run the same version of reprieve everywhere, or choose another schema by ?schema=',
  )
}
