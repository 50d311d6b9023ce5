import type { DatabaseSync } from 'node:sqlite'

/** By the numbers of letters, and so in the order they came in: by their ids a page of letters would write to every page here. */
const HOLDS = `
CREATE TABLE IF NOT EXISTS reprieve_operation_held (
  letter INTEGER PRIMARY KEY,
  operation INTEGER NOT NULL,
  place INTEGER NOT NULL
) STRICT;`
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
${HOLDS}
CREATE TABLE IF NOT EXISTS reprieve_operation_tally (
  operation INTEGER NOT NULL,
  state TEXT NOT NULL,
  because TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (operation, state, because)
) STRICT, WITHOUT ROWID;
`
const THERE = "SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_operation_item'"
/** Of older files: items did not know in which version of its letter each was frozen, an index knew their states, and letters were held by id. */
const NAMELESS = `${THERE} AND NOT EXISTS (SELECT 1 FROM pragma_table_info('reprieve_operation_item') WHERE name = 'repair')`
const VERSIONS = "ALTER TABLE reprieve_operation_item ADD COLUMN repair TEXT NOT NULL DEFAULT ''"
const INDEXED = "SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_operation_item_state'"
const UNINDEXED = 'DROP INDEX reprieve_operation_item_state'
const BY_ID = "SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_operation_hold'"
const BY_NUMBER = `${HOLDS}
INSERT INTO reprieve_operation_held SELECT number, operation, place
  FROM reprieve_operation_hold JOIN reprieve_letter ON id = letter;
DROP TABLE reprieve_operation_hold`

export const makeOperations = (database: DatabaseSync): void => {
  const is = (question: string): boolean => database.prepare(question).get() !== undefined
  const missing = (): readonly string[] => [
    ...(is(THERE) ? [] : [OPERATIONS]),
    ...(is(NAMELESS) ? [VERSIONS] : []),
    ...(is(INDEXED) ? [UNINDEXED] : []),
    ...(is(BY_ID) ? [BY_NUMBER] : []),
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
