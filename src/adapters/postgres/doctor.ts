import type { Doctor, Finding } from '../../contracts/doctor.ts'
import { loadDriver } from './client.ts'
import { ourTables } from './doctor-tables.ts'
import { openPool, type Pool } from './pool.ts'
import { OLDEST } from './schema.ts'
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
  examine: async (url, { subscriptions, letters = false }, tools) => {
    const settings = readUrl(url)
    const pool = openPool(await loadDriver(), settings, tools)
    try {
      const server = await serverOf(pool)
      return [
        ...aboutServer(server),
        ...durability(server),
        ...connections(server, settings),
        // an app's own store carries events too, beside whatever transport
        ...(await ourTables(pool, settings.schema, {
          letters,
          parcels: letters || subscriptions.length > 0,
        })),
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
