import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Tools } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import { makeAudit } from './audit-schema.ts'
import { makeDeaths } from './death-schema.ts'
import { type Fence, fenceOn } from './fence.ts'
import { makeOperations } from './operation-schema.ts'
import { patiently } from './patience.ts'
import { makeRepairs } from './repair-schema.ts'
import { SCHEMA, UPGRADES, VERSION } from './schema.ts'
import { resultCode, troubleWith } from './trouble.ts'

/** One connection to one file. Everything on it is synchronous and none of it waits for a lock. */
export interface File {
  readonly path: string
  /** The statement, prepared once per connection. */
  sql(text: string): StatementSync
  /** A transaction that may write from its first moment; throws SQLITE_BUSY where another process has one. */
  begin(): void
  commit(): void
  /** Ends whatever transaction is open, if one is: SQLite ends some by itself when they fail. */
  rollback(): void
  /** Whether a transaction is under way. */
  isWithin(): boolean
  /** Statements that answer nothing; not kept. */
  exec(text: string): void
  /** A statement of the user's, prepared once, but not remembered for ever: there may be any number of them. */
  theirs(text: string): StatementSync
  /** While the work runs, statements may touch only what is the user's. */
  fenced<T>(work: () => T): T
  /** Drops the connection, so that the next use opens the file anew. */
  drop(): void
}

/**
 * FULL, because in WAL mode NORMAL may lose commits at power loss. No busy timeout: it would stop the event
 * loop. The WAL is copied into the file every 16 MB: most of its pages have been written several times by then. It is cut back
 * after that, so that one long reader does not leave it large for ever.
 */
const SETTINGS = `
PRAGMA synchronous = FULL;
PRAGMA cache_size = -16000;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
PRAGMA wal_autocheckpoint = 4000;
`

export const openFile = async (path: string, tools: Tools): Promise<File> => {
  checkPlace(path)
  try {
    const first = await patiently(tools, () => connect(path))
    await patiently(tools, () => migrate(path, first))
    await patiently(tools, () => makeAudit(first))
    await patiently(tools, () => makeRepairs(first))
    await patiently(tools, () => makeOperations(first))
    await patiently(tools, () => makeDeaths(first))
    return fileOf(path, first)
  } catch (error) {
    if (resultCode(error) === 26) {
      const fix = 'name another file, or move this one away'
      throw new ReprieveError('bad_url', `sqlite file '${path}': it is no SQLite database`, { fix })
    }
    throw troubleWith(path, error)
  }
}

const fileOf = (path: string, first: DatabaseSync): File => {
  let current: DatabaseSync | undefined = first
  const statements = new Map<string, StatementSync>()
  const theirs = new Map<string, StatementSync>()
  let fence: Fence | undefined
  const database = (): DatabaseSync => {
    current ??= connect(path)
    return current
  }
  const sql = (text: string): StatementSync => {
    let statement = statements.get(text)
    if (!statement) {
      statement = database().prepare(text)
      statements.set(text, statement)
    }
    return statement
  }
  return {
    path,
    sql,
    begin: () => void sql('BEGIN IMMEDIATE').run(),
    commit: () => void sql('COMMIT').run(),
    rollback: () => {
      if (current?.isTransaction) current.exec('ROLLBACK')
    },
    isWithin: () => current?.isTransaction ?? false,
    exec: (text) => database().exec(text),
    theirs: (text) => {
      let statement = theirs.get(text)
      if (!statement) {
        if (theirs.size >= MOST_THEIRS) theirs.clear()
        statement = database().prepare(text)
        theirs.set(text, statement)
      }
      return statement
    },
    fenced: (work) => {
      fence ??= fenceOn(database())
      return fence(work)
    },
    drop: () => {
      const dropped = current
      current = undefined
      fence = undefined
      statements.clear()
      theirs.clear()
      try {
        dropped?.close()
      } catch {
        // it was dropped because nothing works on it any more
      }
    },
  }
}

const MOST_THEIRS = 200

const connect = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path)
  try {
    const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode
    if (mode !== 'wal') {
      throw new ReprieveError('unavailable', `sqlite file '${path}': its disk keeps no write-ahead log`, {
        fix: 'put the file on a disk of this machine, not on a network share',
      })
    }
    database.exec(SETTINGS)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

const migrate = (path: string, database: DatabaseSync): void => {
  if (versionOf(path, database) === VERSION) return
  database.exec('BEGIN IMMEDIATE')
  try {
    const found = versionOf(path, database)
    if (found === 0) database.exec(SCHEMA)
    else for (let from = found; from < VERSION; from++) database.exec(UPGRADES[from]!)
    database.prepare("UPDATE reprieve_meta SET value = ? WHERE name = 'schema'").run(VERSION)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

const versionOf = (path: string, database: DatabaseSync): number => {
  const made = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_meta'").get()
  if (!made) return 0
  const row = database.prepare("SELECT value FROM reprieve_meta WHERE name = 'schema'").get()
  const version = Number(row?.value)
  if (version <= VERSION) return version
  throw new ReprieveError(
    'unavailable',
    `sqlite file '${path}': it was written by a newer Reprieve (schema ${version}, this one knows ${VERSION})`,
    { fix: 'update Reprieve here, or name another file' },
  )
}

/** SQLite says 'unable to open' for all of these; people deserve to know which it is. */
const checkPlace = (path: string): void => {
  const kind = fileKind(path)
  if (kind === 'folder') refuse(path, 'it is a folder', `name a file in it, like '${path}/app.db'`)
  if (kind === 'other') refuse(path, 'it is no regular file', 'name another file')
  const folder = dirname(path)
  if (kind === 'nothing' && fileKind(folder) !== 'folder') {
    refuse(path, `there is no folder '${folder}'`, `make it: mkdir -p '${folder}'`)
  }
}

export const fileKind = (path: string): 'nothing' | 'file' | 'folder' | 'other' => {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (!stat) return 'nothing'
    return stat.isDirectory() ? 'folder' : stat.isFile() ? 'file' : 'other'
  } catch {
    return 'file' // we may not even look: SQLite will say so
  }
}

const refuse = (path: string, why: string, fix: string): never => {
  throw new ReprieveError('bad_url', `sqlite file '${path}': ${why}`, { fix })
}
