import type { DatabaseSync } from 'node:sqlite'

/**
 * The audit's own step, beside the numbered schema: a file of any version has it after it was opened. The head stands in
 * a table of its own, so that a chain without its end is found. The triggers are against accidents: whoever may write
 * to the file may drop them, and is found by the hashes.
 */
const AUDIT = `
CREATE TABLE IF NOT EXISTS reprieve_audit (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  who TEXT NOT NULL,
  act TEXT NOT NULL,
  target TEXT NOT NULL,
  count INTEGER NOT NULL,
  reason TEXT,
  details TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS reprieve_audit_head (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  count INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS reprieve_audit_unchanged BEFORE UPDATE ON reprieve_audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER IF NOT EXISTS reprieve_audit_whole BEFORE DELETE ON reprieve_audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
`
const PARTS = `SELECT count(*) AS n FROM sqlite_schema WHERE name IN
  ('reprieve_audit', 'reprieve_audit_head', 'reprieve_audit_unchanged', 'reprieve_audit_whole')`

export const makeAudit = (database: DatabaseSync): void => {
  if (database.prepare(PARTS).get()?.n === 4) return
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(AUDIT)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
