import type { Doctor, Finding } from '../../contracts/doctor.ts'
import { loadDriver } from './client.ts'
import { openPool, type Pool } from './pool.ts'
import { OLDEST, VERSION } from './schema.ts'
import { readUrl, type Settings } from './settings.ts'

const CHECKS = [
  'postgres-version',
  'postgres-encoding',
  'postgres-primary',
  'postgres-durability',
  'postgres-schema',
  'postgres-permissions',
  'postgres-connections',
] as const
type Found = Finding<(typeof CHECKS)[number]>

export const doctor: Doctor = {
  checks: CHECKS,
  examine: async (url, _needs, tools) => {
    const settings = readUrl(url)
    const pool = openPool(await loadDriver(), settings, tools)
    try {
      const server = await serverOf(pool)
      return [
        ...aboutServer(server),
        ...durability(server),
        ...connections(server, settings),
        ...(await ourTables(pool, settings)),
      ]
    } finally {
      await pool.close()
    }
  },
}

type Row = Readonly<Record<string, unknown>>

/** `reset_val`: what holds before our own session says otherwise. */
const SERVER = `
SELECT current_setting('server_version') AS shown, current_setting('server_version_num')::integer AS version,
  current_setting('server_encoding') AS encoding, pg_catalog.pg_is_in_recovery() AS replica,
  current_setting('default_transaction_read_only') AS readonly,
  (SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'fsync') AS fsync,
  (SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'full_page_writes') AS full_page_writes,
  (SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'synchronous_commit') AS synchronous_commit,
  current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS most,
  (SELECT count(*)::integer FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend') AS used`

const serverOf = async (pool: Pool): Promise<Row> => (await pool.ask({ text: SERVER })).rows[0]!

function* aboutServer({ shown, version, encoding, replica, readonly }: Row): Generator<Found> {
  const old = Number(version) < OLDEST
  yield {
    check: 'postgres-version',
    level: old ? 'wrong' : 'fine',
    where: 'server',
    what: `PostgreSQL ${shown}`,
    ...(old && { fix: `use PostgreSQL ${OLDEST / 10_000} or newer` }),
  }
  const utf8 = encoding === 'UTF8'
  yield {
    check: 'postgres-encoding',
    level: utf8 ? 'fine' : 'wrong',
    where: 'database',
    what: `kept in ${encoding}`,
    ...(!utf8 && { why: 'it can not hold every id', fix: 'use a database in UTF8' }),
  }
  const writes = replica !== true && readonly !== 'on'
  yield {
    check: 'postgres-primary',
    level: writes ? 'fine' : 'wrong',
    where: 'server',
    what:
      replica === true
        ? 'it is a standby'
        : writes
          ? 'it takes writes'
          : 'transactions are read-only by default',
    ...(!writes && {
      why: 'every claim is a write',
      fix: 'name the primary in the URL, or set default_transaction_read_only off for this user',
    }),
  }
}

function* durability(settings: Row): Generator<Found> {
  const off = ['fsync', 'full_page_writes', 'synchronous_commit'].filter((name) => settings[name] === 'off')
  if (off.length === 0) {
    yield {
      check: 'postgres-durability',
      level: 'fine',
      where: 'settings',
      what: 'what it confirms is on disk',
    }
  }
  for (const name of off) {
    const own = name === 'synchronous_commit'
    yield {
      check: 'postgres-durability',
      level: 'risky',
      where: name,
      what: 'off',
      why: own
        ? 'Reprieve asks for its own commits to be on disk; those of your handlers may be lost though the ledger says done'
        : 'at a loss of power the database may be damaged, and with it what the ledger knows was done',
      fix: own ? 'ALTER DATABASE … SET synchronous_commit = on' : `set ${name} = on in postgresql.conf`,
    }
  }
}

function* connections({ most, used }: Row, { pool }: Settings): Generator<Found> {
  // this very look has one of them
  const left = Number(most) - Number(used) + 1
  const few = left < pool
  yield {
    check: 'postgres-connections',
    level: few ? 'risky' : 'fine',
    where: 'max_connections',
    what: `${left} of ${most} are free, and a process of ours may use ${pool}`,
    ...(few && {
      why: 'a process that gets no connection takes no events',
      fix: 'raise max_connections, lower ?pool= in the URL, or put a pooler between',
    }),
  }
}

const RIGHTS = `
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = 'meta') AS made,
  n.oid IS NOT NULL AS there,
  has_database_privilege(current_database(), 'CREATE') AS may_create,
  n.oid IS NOT NULL AND has_schema_privilege(n.oid, 'USAGE') AS may_use,
  n.oid IS NOT NULL AND has_schema_privilege(n.oid, 'CREATE') AS may_fill
FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = $1`

const ourTables = async (pool: Pool, { schema }: Settings): Promise<readonly Found[]> => {
  const row = (await pool.ask({ text: RIGHTS, values: [schema] })).rows[0]!
  const where = `schema ${schema}`
  const refused = (what: string, fix: string): Found => ({
    check: 'postgres-permissions',
    level: 'wrong',
    where,
    what,
    why: 'the ledger and the board are tables there',
    fix,
  })
  const may: Found = {
    check: 'postgres-permissions',
    level: 'fine',
    where,
    what: 'the user may do what is needed',
  }
  if (!row.there) {
    const missing: Found = {
      check: 'postgres-schema',
      level: 'fine',
      where,
      what: 'not there yet; it will be made',
    }
    const fix = `let its owner say: CREATE SCHEMA ${schema} AUTHORIZATION <our user>`
    return [missing, row.may_create ? may : refused('the user may not create it', fix)]
  }
  if (!row.may_use) {
    const fix = `let its owner say: GRANT USAGE ON SCHEMA ${schema} TO <our user>, and the same for its tables`
    return [refused('the user may not use it', fix)]
  }
  if (!row.made) {
    const empty: Found = {
      check: 'postgres-schema',
      level: 'fine',
      where,
      what: 'empty; its tables will be made',
    }
    const fix = `let its owner say: GRANT CREATE ON SCHEMA ${schema} TO <our user>`
    return [empty, row.may_fill ? may : refused('the user may not create tables in it', fix)]
  }
  return inTables(pool, schema, where, refused, may)
}

/** Of tables and sequences of ours that are there; of the one with the version it is enough to read it. */
const LACKS = `
SELECT c.relname AS name, p.name AS right
FROM pg_catalog.pg_namespace AS n JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
JOIN (VALUES (1, 'r', 'SELECT'), (2, 'r', 'INSERT'), (3, 'r', 'UPDATE'), (4, 'r', 'DELETE'), (5, 'S', 'USAGE'))
  AS p (place, kind, name) ON p.kind = c.relkind::text
WHERE n.nspname = $1 AND c.relname IN ('meta', 'ledger', 'board', 'inbox', 'outbox', 'board_version')
  AND (c.relname <> 'meta' OR p.name = 'SELECT')
  AND NOT CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, p.name) ELSE has_table_privilege(c.oid, p.name) END
ORDER BY c.relname = 'meta' DESC, c.relname, p.place`

const inTables = async (
  pool: Pool,
  schema: string,
  where: string,
  refused: (what: string, fix: string) => Found,
  may: Found,
): Promise<readonly Found[]> => {
  const { rows: lacks } = await pool.ask({ text: LACKS, values: [schema] })
  const missing = lacks.map(({ right, name }) => `${right} on ${name}`)
  const meta = !missing.includes('SELECT on meta')
  const grant = `let its owner say: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO <our user>; GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO <our user>`
  const permission = missing.length === 0 ? may : refused(`the user lacks ${missing.join(', ')}`, grant)
  if (!meta) return [permission]
  const { rows } = await pool.ask({ text: `SELECT value FROM ${schema}.meta WHERE name = 'schema'` })
  const there = Number(rows[0]?.value)
  const same = there === VERSION
  return [
    permission,
    {
      check: 'postgres-schema',
      level: same ? 'fine' : 'wrong',
      where,
      what: same ? `version ${there}` : `it is of version ${there}, and this program knows ${VERSION}`,
      ...(!same && {
        why: 'this program refuses to use it',
        fix: 'run the same version of reprieve everywhere, or choose another schema by ?schema=',
      }),
    },
  ]
}
