import { accessSync, closeSync, constants, openSync, readSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Doctor, Finding } from '../../contracts/doctor.ts'
import { fileKind } from './file.ts'
import { VERSION } from './schema.ts'
import { troubleWith } from './trouble.ts'
import { readUrl } from './url.ts'

const CHECKS = [
  'sqlite-version',
  'sqlite-file',
  'sqlite-writable',
  'sqlite-wal',
  'sqlite-schema',
  'sqlite-journal',
  'sqlite-disk',
] as const
type Found = Finding<(typeof CHECKS)[number]>

/** STRICT tables; and before 3.51.3 a race at the reset of a write-ahead log could damage a file, rarely. */
const OLDEST = '3.37.0'
const MB = 1024 * 1024
/** The log is cut back to 64 MB after each checkpoint: far more means that somebody reads and never ends. */
const LARGE_JOURNAL = 256 * MB
const LITTLE_ROOM = 100 * MB
const SCARCE_ROOM = 1024 * MB

/** File systems that other machines write to as well, by their numbers in Linux. */
const SHARED: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  1702057286: 'FUSE',
  16914839: '9p',
}

export const doctor: Doctor = {
  checks: CHECKS,
  examine: async (url) => {
    const { path } = readUrl(url)
    return [...file(path), ...disk(path)]
  },
}

function* file(path: string): Generator<Found> {
  const where = path
  yield version()
  const kind = fileKind(path)
  const folder = dirname(path)
  if (kind === 'folder' || kind === 'other') {
    yield {
      check: 'sqlite-file',
      level: 'wrong',
      where,
      what: kind === 'folder' ? 'it is a folder' : 'it is no regular file',
      fix: 'name a file in the URL',
    }
    return
  }
  if (kind === 'nothing') {
    if (fileKind(folder) !== 'folder') {
      const what = `there is no folder '${folder}' to make it in`
      const why = 'it can be made by the first start, its folder can not'
      yield { check: 'sqlite-file', level: 'wrong', where, what, why, fix: `make it: mkdir -p '${folder}'` }
      return
    }
    yield { check: 'sqlite-file', level: 'fine', where, what: 'it is not there yet and will be made' }
    yield* writable(path, [folder])
    return
  }
  yield* writable(path, [path, folder])
  yield* inside(path)
}

const version = (): Found => {
  const { sqlite = '0' } = process.versions
  const old = sqlite.localeCompare(OLDEST, 'en', { numeric: true }) < 0
  return {
    check: 'sqlite-version',
    level: old ? 'wrong' : 'fine',
    where: 'node:sqlite',
    what: `SQLite ${sqlite}`,
    ...(old && { why: `its tables need ${OLDEST}`, fix: 'use a newer Node.js: SQLite comes with it' }),
  }
}

/** Asked of the system, and not tried: trying would leave a file, or a newer date on one. */
function* writable(where: string, paths: readonly string[]): Generator<Found> {
  for (const path of paths) {
    const may = mayWrite(path)
    if (may === 'yes') continue
    yield {
      check: 'sqlite-writable',
      level: may === 'no' ? 'wrong' : 'risky',
      where: path,
      what: may === 'no' ? 'it may not be written to' : 'nobody but root may write to it',
      why: 'every claim, retry and burial is a write, and SQLite keeps two files beside its own',
      fix: `give the user who runs the services the right to write: chmod u+w '${path}'`,
    }
    return
  }
  yield { check: 'sqlite-writable', level: 'fine', where, what: 'file and folder may be written to' }
}

/** To root everything is allowed, which says nothing about whoever will run the services. */
const mayWrite = (path: string): 'yes' | 'no' | 'as root' => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return (statSync(path).mode & 0o222) === 0 ? 'as root' : 'yes'
  } catch {
    return 'no' // whatever the reason, it is the same thing that has to be mended
  }
}

/**
 * A reader of a write-ahead log leaves two files beside it. Where they are not there nobody uses the file at the moment,
 * and it can be read as if nothing could change it.
 */
const untouched = (path: string): string | URL => {
  if (fileKind(`${path}-wal`) !== 'nothing') return path
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

/** The header says 2 for a write-ahead log; what a connection says of a file that can't change is another thing. */
const keepsLog = (path: string): boolean => {
  const header = Buffer.alloc(20)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, 20, 0)
  } finally {
    closeSync(file)
  }
  return header[18] === 2
}

function* inside(where: string): Generator<Found> {
  let database: DatabaseSync
  try {
    database = new DatabaseSync(untouched(where), { readOnly: true })
  } catch (error) {
    yield unreadable(where, error)
    return
  }
  try {
    const made = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_meta'").get()
    const found = made && database.prepare("SELECT value FROM reprieve_meta WHERE name = 'schema'").get()
    yield* schema(where, made ? Number(found?.value) : undefined)
    if (made && !keepsLog(where)) {
      yield {
        check: 'sqlite-wal',
        level: 'risky',
        where,
        what: 'it keeps no write-ahead log any more',
        why: 'somebody changed it: readers and writers then stop each other',
        fix: 'nothing to do if it may be changed back: the next start does so',
      }
    }
  } catch (error) {
    yield unreadable(where, error)
  } finally {
    database.close()
  }
  yield* journal(where)
}

const unreadable = (where: string, error: unknown): Found => {
  const { message, fix } = troubleWith(where, error) as Error & { fix?: string }
  const what = message.replace(/\n {2}fix: .*$/s, '').replace(`sqlite file '${where}': `, '')
  return { check: 'sqlite-file', level: 'wrong', where, what, ...(fix && { fix }) }
}

function* schema(where: string, found: number | undefined): Generator<Found> {
  if (found === undefined) {
    const what = 'it holds no tables of Reprieve yet; they will be made'
    yield { check: 'sqlite-schema', level: 'fine', where, what }
  } else if (!(found <= VERSION)) {
    yield {
      check: 'sqlite-schema',
      level: 'wrong',
      where,
      what: `it was written by a newer Reprieve (schema ${found}, this one knows ${VERSION})`,
      why: 'this version refuses to open it',
      fix: 'update Reprieve here, or name another file',
    }
  } else {
    const what = found === VERSION ? `schema ${found}` : `schema ${found}; the next start makes it ${VERSION}`
    yield { check: 'sqlite-schema', level: 'fine', where, what }
  }
}

function* journal(path: string): Generator<Found> {
  const where = `${path}-wal`
  const size = statSync(where, { throwIfNoEntry: false })?.size ?? 0
  const large = size > LARGE_JOURNAL
  yield {
    check: 'sqlite-journal',
    level: large ? 'risky' : 'fine',
    where,
    what: `${Math.ceil(size / MB)} MB`,
    ...(large && {
      why: 'a reader that does not end keeps it from being cut back: every read gets slower',
      fix: 'look for a program with a long transaction on the file, and end it',
    }),
  }
}

/** Of the folder, so that a file that is not there yet is judged as well. */
function* disk(path: string): Generator<Found> {
  const where = dirname(path)
  if (fileKind(where) !== 'folder') return
  const { type, bavail, bsize } = statfsSync(where)
  const share = SHARED[type >>> 0]
  if (share !== undefined) {
    yield {
      check: 'sqlite-wal',
      level: 'wrong',
      where,
      what: `the folder is on a shared file system (${share})`,
      why: "a write-ahead log needs memory that all its users share: on a share it damages the file, or won't open",
      fix: 'put the file on a disk of this machine; for several hosts use postgres: or redis: as ledger',
    }
  }
  const free = bavail * bsize
  const level = free < LITTLE_ROOM ? 'wrong' : free < SCARCE_ROOM ? 'risky' : 'fine'
  yield {
    check: 'sqlite-disk',
    level,
    where,
    what: `${Math.floor(free / MB)} MB free`,
    ...(level !== 'fine' && {
      why: 'once the disk is full nothing is taken, retried or buried any more',
      fix: 'free some space, or put the file on a larger disk',
    }),
  }
}
