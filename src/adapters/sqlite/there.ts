import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { WhyNoAudit } from '../../contracts/adapter.ts'
import { ReprieveError } from '../../core/error.ts'
import { resultCode, troubleWith } from './trouble.ts'
import { readUrl } from './url.ts'

/** The tables of an older version are ours too: the audit comes with the next opening. */
const OURS =
  "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name LIKE 'reprieve\\_%' ESCAPE '\\' LIMIT 1"

const ANY =
  "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' LIMIT 1"

/** Reads alone: a file that is not there is not made, and one that is someone else's stays as it is. */
export const whyNoAudit: WhyNoAudit = async (url) => {
  const { path } = readUrl(url)
  if (!existsSync(path)) return refused(path, 'there is no such file, and so no audit')
  try {
    using database = new DatabaseSync(path, { readOnly: true })
    if (database.prepare(OURS).get()) return undefined
    const theirs = database.prepare(ANY).get() !== undefined
    return refused(path, `it ${theirs ? 'has no tables of ours' : 'is empty'}, and so no audit`)
  } catch (error) {
    // a file that can't be read so may still be opened; whoever does so tells what is wrong with it
    return resultCode(error) === NOTADB ? (troubleWith(path, error) as ReprieveError) : undefined
  }
}

const NOTADB = 26

const refused = (path: string, what: string): ReprieveError =>
  new ReprieveError('bad_url', `sqlite file '${path}': ${what}`, {
    fix: 'name the store that the app uses, like --store sqlite:app.db',
  })
