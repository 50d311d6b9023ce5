import type { DatabaseSync } from 'node:sqlite'

/** Its own step, beside the numbered schema: a file of any version has it after it was opened. */
const DEATHS = `
CREATE TABLE IF NOT EXISTS reprieve_letter_death (
  service TEXT NOT NULL,
  topic TEXT NOT NULL,
  event_type TEXT NOT NULL,
  letters INTEGER NOT NULL,
  retries INTEGER NOT NULL,
  PRIMARY KEY (service, topic, event_type)
) STRICT, WITHOUT ROWID`

export const makeDeaths = (database: DatabaseSync): void => {
  const there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'reprieve_letter_death'"
  if (!database.prepare(there).get()) database.exec(DEATHS)
}
