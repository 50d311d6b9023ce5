import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { NoAudit, WhyNoAudit } from '../../contracts/adapter.ts'
import type { ReprieveError } from '../../core/error.ts'
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
  if (!existsSync(path)) return none('new', path, 'there is no such file')
  try {
    using database = new DatabaseSync(path, { readOnly: true })
    if (database.prepare(OURS).get()) return undefined
    const theirs = database.prepare(ANY).get() !== undefined
    return theirs ? none('theirs', path, 'it has no tables of ours') : none('new', path, 'it is empty')
  } catch (error) {
    // a file that can't be read so may still be opened; whoever does so tells what is wrong with it
    if (resultCode(error) !== NOTADB) return undefined
    return { is: 'unfit', error: troubleWith(path, error) as ReprieveError }
  }
}

const NOTADB = 26

const none = (is: 'new' | 'theirs', path: string, what: string): NoAudit => ({
  ...{ is, what: `sqlite file '${path}': ${what}` },
  fix: 'name the store that the app uses, like --store sqlite:app.db',
})
