import type { DatabaseSync } from 'node:sqlite'

/**
 * Versions of letters, beside the numbered schema: a file of any version has the table after it was opened. A version
 * is never changed, and goes only with its letter.
 */
const REPAIRS = `
CREATE TABLE IF NOT EXISTS reprieve_letter_repair (
  letter TEXT NOT NULL,
  version INTEGER NOT NULL,
  repair TEXT NOT NULL,
  PRIMARY KEY (letter, version)
) STRICT;
CREATE TRIGGER IF NOT EXISTS reprieve_letter_repair_unchanged BEFORE UPDATE ON reprieve_letter_repair
BEGIN SELECT RAISE(ABORT, 'a version of a letter is never changed'); END;
CREATE TRIGGER IF NOT EXISTS reprieve_letter_gone AFTER DELETE ON reprieve_letter
BEGIN DELETE FROM reprieve_letter_repair WHERE letter = OLD.id; END;
`
const PARTS = `SELECT count(*) AS n FROM sqlite_schema WHERE name IN
  ('reprieve_letter_repair', 'reprieve_letter_repair_unchanged', 'reprieve_letter_gone')`

export const makeRepairs = (database: DatabaseSync): void => {
  if (database.prepare(PARTS).get()?.n === 3) return
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(REPAIRS)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
