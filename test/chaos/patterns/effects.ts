import { DatabaseSync } from 'node:sqlite'
import { changeIf, upsert } from '../../../src/index.ts'

export type Pattern = 'dedup' | 'upsert' | 'state' | 'transaction'
export const PATTERNS: readonly Pattern[] = ['dedup', 'upsert', 'state', 'transaction']

/** How many natural keys the events of a run share. */
export const KEYS = 500

/** How long what a worker has is its own, in milliseconds. */
export const LEASE = 2000

/** How many deliveries a worker has out and unsettled at most, each of which may have had its effect. */
export const WINDOW = 60

export interface Payload {
  readonly n: number
}

/**
 * The database of the user of Reprieve: whatever a handler does to the world is here, and is counted by whoever looks from
 * outside. `calls` has a row for each time an effect was made, in the same commit as the effect; `again` has one for each handler that
 * began after the runtime had `told` that its event is done.
 */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS calls (event TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS told (event TEXT PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS again (event TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS applied (key TEXT PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS profile (key TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS orders (n INTEGER PRIMARY KEY, state TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS payments (n INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS effect (event TEXT NOT NULL) STRICT;
`

export const openEffects = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path, { timeout: 20_000 })
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  database.exec(SCHEMA)
  return database
}

/** A downstream that knows idempotency keys, a row by its natural key, a change of state: made in one commit with its count. */
export const makeEffect = (
  database: DatabaseSync,
  pattern: Exclude<Pattern, 'transaction'>,
  event: string,
  key: string,
  { n }: Payload,
): void => {
  database.exec('BEGIN IMMEDIATE')
  try {
    database.prepare('INSERT INTO calls VALUES (?)').run(event)
    if (pattern === 'dedup') database.prepare('INSERT OR IGNORE INTO applied VALUES (?)').run(key)
    else if (pattern === 'upsert') keepProfile(database, n)
    else if (pay(database, n)) database.prepare('INSERT INTO payments VALUES (?)').run(n)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

/** An older event never overwrites a newer one. */
const keepProfile = (database: DatabaseSync, n: number): boolean =>
  upsert(database, 'profile', { key: { key: `key-${n % KEYS}` }, values: { version: n }, newer: 'version' })

/** Only a new order can be paid; of those who pay it one is told that it was he. */
const pay = (database: DatabaseSync, n: number): boolean =>
  changeIf(database, 'orders', { key: { n }, from: { state: 'new' }, set: { state: 'paid' } })

/** The runtime says that it is done: from then on dedup promises that it is not run again. */
export const noteDone = (database: DatabaseSync, event: string): void => {
  database.prepare('INSERT OR IGNORE INTO told VALUES (?)').run(event)
}

/** To be asked when a handler begins. */
export const noteIfAgain = (database: DatabaseSync, event: string): void => {
  if (!database.prepare('SELECT 1 FROM told WHERE event = ?').get(event)) return
  database.prepare('INSERT INTO again VALUES (?)').run(event)
}

export const manyOrders = (database: DatabaseSync, count: number): void => {
  const insert = database.prepare(`INSERT INTO orders VALUES (?, 'new')`)
  database.exec('BEGIN')
  for (let n = 0; n < count; n++) insert.run(n)
  database.exec('COMMIT')
}
