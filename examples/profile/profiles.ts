import { DatabaseSync } from 'node:sqlite'
import { Permanent } from 'reprieve'

export interface Profile {
  readonly subject: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
}

/** Every write may come twice and leaves what it would leave if it had come once. */
export interface Profiles {
  /** A registration that comes again, or late, changes nothing. */
  insertOrIgnore(profile: Profile): Promise<void>
  upsert(profile: Profile): Promise<void>
  remove(subject: string): Promise<void>
  all(): Promise<readonly Profile[]>
  close(): Promise<void>
}

const TABLE = `CREATE TABLE IF NOT EXISTS profile (
  subject TEXT PRIMARY KEY, email TEXT NOT NULL, first_name TEXT NOT NULL, last_name TEXT NOT NULL)`
const INSERT =
  'INSERT INTO profile (subject, email, first_name, last_name) VALUES ($1, $2, $3, $4) ON CONFLICT (subject)'
const IGNORE = `${INSERT} DO NOTHING`
const UPDATE = `${INSERT} DO UPDATE
  SET email = excluded.email, first_name = excluded.first_name, last_name = excluded.last_name`
const REMOVE = 'DELETE FROM profile WHERE subject = $1'
const ALL =
  'SELECT subject, email, first_name AS "firstName", last_name AS "lastName" FROM profile ORDER BY subject'

const values = ({ subject, email, firstName, lastName }: Profile) => [subject, email, firstName, lastName]

/** PostgreSQL where there is a URL, else a file beside you. */
export const openProfiles = (url: string | undefined): Promise<Profiles> =>
  url ? inPostgres(url) : Promise.resolve(inFile('profiles.db'))

const inPostgres = async (url: string): Promise<Profiles> => {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    max: 5,
    connectionTimeoutMillis: 2000,
    // Whoever waits for an answer gives up by the rule book; without this the connection would wait on, and soon all five.
    query_timeout: Number(process.env.DATABASE_TIMEOUT_MS || 10_000),
    keepAlive: true,
  })
  pool.on('error', () => {}) // an idle connection was lost: the next call opens another one
  const ask = async (sql: string, values: readonly string[] = []) => (await pool.query(sql, [...values])).rows
  let made: Promise<unknown> | undefined
  /** The database may be down when we begin. */
  const there = async () => {
    made ??= ask(TABLE)
    await made.catch((error: unknown) => {
      made = undefined
      throw error
    })
  }
  const run = async (sql: string, values: readonly string[] = []) => {
    await there()
    return ask(sql, values)
  }
  return {
    insertOrIgnore: async (profile) => void (await run(IGNORE, values(profile))),
    upsert: async (profile) => void (await run(UPDATE, values(profile))),
    remove: async (subject) => void (await run(REMOVE, [subject])),
    all: async () => (await run(ALL)) as Profile[],
    close: () => pool.end(),
  }
}

const inFile = (file: string): Profiles => {
  const database = new DatabaseSync(file)
  database.exec(TABLE)
  const prepare = (sql: string) => database.prepare(sql.replaceAll('$', '?'))
  return {
    insertOrIgnore: async (profile) => void prepare(IGNORE).run(...values(profile)),
    upsert: async (profile) => void prepare(UPDATE).run(...values(profile)),
    remove: async (subject) => void prepare(REMOVE).run(subject),
    all: async () => database.prepare(ALL).all() as unknown as Profile[],
    close: async () => database.close(),
  }
}

/** What is no profile can't become one by trying again. */
export const profileOf = (data: unknown): Profile => {
  const { email, firstName, lastName } = (data ?? {}) as Record<string, unknown>
  if (typeof email !== 'string' || !email.includes('@')) throw new Permanent('it has no email address')
  return {
    subject: subjectOf(data),
    email,
    firstName: String(firstName ?? ''),
    lastName: String(lastName ?? ''),
  }
}

export const subjectOf = (data: unknown): string => {
  const { subject } = (data ?? {}) as Record<string, unknown>
  if (typeof subject !== 'string' || subject === '') throw new Permanent('it names no subject')
  return subject
}
