import type { DatabaseSync } from 'node:sqlite'

/**
 * The operations' own step, beside the numbered schema, as that of the audit. A hold says which operation has a letter, or had it
 * last: that of one that is over is taken over by the next, so that to end an operation of a million letters is one row.
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
  PRIMARY KEY (operation, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reprieve_operation_item_state ON reprieve_operation_item (operation, state, place);
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
/** The last that is made: where it is there, all are. */
const LAST = "SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_operation_tally'"

export const makeOperations = (database: DatabaseSync): void => {
  if (database.prepare(LAST).get()) return
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(OPERATIONS)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
