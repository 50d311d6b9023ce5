import { createHash } from 'node:crypto'
import pg from 'pg'
import { open as openPostgres } from '../../src/adapters/postgres/index.ts'
import type { AppStore } from '../../src/contracts/store.ts'
import { lettersFrom, MADE, START, tools } from './letters.ts'

/** The database that letters are kept in, and where those that are looked at lie: one name for all processes of a run. */
export interface Server {
  readonly url: string
  readonly run: string
}

export const serverAt = (url: string, folder: string): Server => ({
  url,
  run: `bench_${createHash('sha256').update(folder).digest('hex').slice(0, 10)}`,
})

export const openStoreAt = async ({ url }: Server, schema: string): Promise<AppStore> => {
  const at = new URL(url)
  at.searchParams.set('schema', schema)
  at.searchParams.set('timeout', '60000')
  const { store } = await openPostgres(at.href, tools)
  await store.ready?.()
  const close = async (): Promise<void> => {
    await store.companion?.close()
    await store.close()
  }
  return { ...store, close }
}

/** By the plain driver. */
export const plainly = async <T>({ url }: Server, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export const dropSchema = (server: Server, schema: string): Promise<unknown> =>
  plainly(server, (client) => client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`))

/** All that a run made. */
export const dropAll = async (server: Server): Promise<void> => {
  const like = `SELECT nspname FROM pg_namespace WHERE nspname LIKE '${server.run}\\_%'`
  const { rows } = await plainly(server, (client) => client.query(like))
  for (const { nspname } of rows) await dropSchema(server, nspname as string)
}

const GULP = 1000

export const keepMany = async (store: AppStore, count: number, only?: number): Promise<void> => {
  for (let from = 0; from < count; from += GULP)
    await store.letters.keep(lettersFrom(from, Math.min(GULP, count - from), only))
}

/** A schema with so many letters, made once for all processes of a run. Nobody writes to it after that. */
export const schemaWith = async (server: Server, count: number): Promise<string> => {
  const schema = `${server.run}_${count}`
  if (await isWhole(server, schema)) return schema
  await dropSchema(server, schema)
  const store = await openStoreAt(server, schema)
  const made = count > MADE && count % MADE === 0 ? MADE : count
  await keepMany(store, made)
  await store.close()
  await plainly(server, async (client) => {
    if (count > made) for (const text of copies(schema, count / made)) await client.query(text)
    await client.query(`ANALYZE ${schema}.letter; INSERT INTO ${schema}.meta VALUES ('bench', ${count})`)
  })
  return schema
}

const isWhole = async (server: Server, schema: string): Promise<boolean> =>
  plainly(server, async (client) => {
    const there = await client.query(`SELECT to_regclass('${schema}.meta') AS meta`)
    if (there.rows[0].meta === null) return false
    return (await client.query(`SELECT 1 FROM ${schema}.meta WHERE name = 'bench'`)).rows.length === 1
  })

const SAME =
  'service, topic, event_type, category, kind, code, fingerprint, state, state_at, outline, headers, data'

/** Copies of each letter, with ids of their own, each set of them younger than the one before; and what is counted of them. */
const copies = (schema: string, times: number): readonly string[] => [
  `ALTER TABLE ${schema}.letter SET UNLOGGED`,
  `ALTER TABLE ${schema}.letter DROP CONSTRAINT letter_pkey`,
  `DROP INDEX ${schema}.letter_state, ${schema}.letter_fingerprint`,
  `INSERT INTO ${schema}.letter (id, buried_at, ${SAME}, envelope)
    SELECT made.anew, buried_at + n * ${MADE}, ${SAME},
      convert_to(replace(convert_from(envelope, 'UTF8'), id, made.anew), 'UTF8')
    FROM generate_series(1, ${times - 1}) AS n, ${schema}.letter,
      LATERAL (SELECT lpad(to_hex(n), 8, '0') || substr(id, 9) AS anew) AS made
    WHERE buried_at < ${START + MADE}`,
  `ALTER TABLE ${schema}.letter ADD PRIMARY KEY (id)`,
  `CREATE INDEX letter_state ON ${schema}.letter (state, (buried_at + 0), id)`,
  `CREATE INDEX letter_fingerprint ON ${schema}.letter (fingerprint, state, buried_at, id)`,
  `UPDATE ${schema}.letter_tally SET count = count * ${times}`,
  `UPDATE ${schema}.letter_death SET letters = letters * ${times}, retries = retries * ${times}`,
  `UPDATE ${schema}.letter_group AS g SET last_at = last_at + ${(times - 1) * MADE},
    sample = (SELECT id FROM ${schema}.letter AS l WHERE l.fingerprint = g.fingerprint AND l.state = 'open'
      ORDER BY buried_at DESC LIMIT 1)`,
  `VACUUM (ANALYZE) ${schema}.letter`,
]
