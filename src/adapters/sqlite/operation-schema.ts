import type { DatabaseSync } from 'node:sqlite'

/**
 * The operations' own step, beside the numbered schema, as that of the audit. A hold says which operation has a letter, or had it
 * last: that of one that is over is taken over by the next, so that to end an operation of a million letters is one row. No index
 * knows the states of items, for each changes twice on its way.
 */
const OPERATIONS = `
CREATE TABLE IF NOT EXISTS reprieve_operation (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  live INTEGER NOT NULL,
  version INTEGER NOT NULL,
  holder TEXT,
  held_until INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS reprieve_operation_live ON reprieve_operation (live, id);
CREATE TABLE IF NOT EXISTS reprieve_operation_item (
  operation INTEGER NOT NULL,
  place INTEGER NOT NULL,
  letter TEXT NOT NULL,
  state TEXT NOT NULL,
  because TEXT NOT NULL,
  at INTEGER NOT NULL,
  repair TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (operation, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reprieve_operation_hold (
  letter TEXT PRIMARY KEY,
  operation INTEGER NOT NULL,
  place INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reprieve_operation_tally (
  operation INTEGER NOT NULL,
  state TEXT NOT NULL,
  because TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (operation, state, because)
) STRICT, WITHOUT ROWID;
`
const THERE = "SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_operation_item'"
/** Of older files: items did not know in which version of its letter each was frozen, and an index knew their states. */
const NAMELESS = `${THERE} AND NOT EXISTS (SELECT 1 FROM pragma_table_info('reprieve_operation_item') WHERE name = 'repair')`
const VERSIONS = "ALTER TABLE reprieve_operation_item ADD COLUMN repair TEXT NOT NULL DEFAULT ''"
const INDEXED = "SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_operation_item_state'"
const UNINDEXED = 'DROP INDEX reprieve_operation_item_state'

export const makeOperations = (database: DatabaseSync): void => {
  const is = (question: string): boolean => database.prepare(question).get() !== undefined
  const missing = (): readonly string[] => [
    ...(is(THERE) ? [] : [OPERATIONS]),
    ...(is(NAMELESS) ? [VERSIONS] : []),
    ...(is(INDEXED) ? [UNINDEXED] : []),
  ]
  if (missing().length === 0) return
  database.exec('BEGIN IMMEDIATE')
  try {
    // another process may have been quicker
    for (const step of missing()) database.exec(step)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
