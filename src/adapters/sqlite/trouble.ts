import { ReprieveError } from '../../core/error.ts'

/** The primary result code of an error that node:sqlite threw; undefined for any other error. */
export const resultCode = (error: unknown): number | undefined => {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode & 0xff : undefined
}

const BUSY = 5
const NOMEM = 7
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const NOTADB = 26

export const isBusy = (error: unknown): boolean => resultCode(error) === BUSY

/** The file or its disk is at fault, not the one statement that met it. */
export const isOfTheFile = (error: unknown): boolean =>
  [BUSY, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB].includes(resultCode(error) ?? -1)

/**
 * After these nothing this connection says can be trusted: a commit that follows a failed fsync may say ok
 * though its pages never reach the disk.
 */
export const needsReopening = (error: unknown): boolean =>
  [IOERR, CORRUPT, NOTADB, CANTOPEN].includes(resultCode(error) ?? -1)

const KNOWN: Readonly<Record<number, readonly [what: string, fix: string]>> = {
  [BUSY]: [
    'another program holds its write lock and does not let go',
    'look for a program with an open transaction on the file',
  ],
  [READONLY]: [
    'it may not be written to',
    'give this user the right to write to the file and to its folder (SQLite keeps two files beside it)',
  ],
  [IOERR]: [
    'the disk failed while reading or writing; whether this was kept is unknown',
    'check the disk; Reprieve opens the file anew before it goes on',
  ],
  [CORRUPT]: ['it is damaged', "check it with 'PRAGMA integrity_check' and bring back a backup"],
  [FULL]: ['its disk is full; nothing of this was kept', 'free some space, then it goes on by itself'],
  [CANTOPEN]: [
    'it can not be opened or made',
    'check that its folder exists and that this user may read and write there',
  ],
  [NOTADB]: ['it is no SQLite database', 'name another file, or move this one away'],
}

/** What SQLite said, in words that tell how to mend it. */
export const troubleWith = (path: string, error: unknown): Error => {
  const code = resultCode(error)
  if (code === undefined) return error instanceof Error ? error : new Error(String(error))
  const [what, fix] = KNOWN[code] ?? []
  const said = (error as Error).message
  return new ReprieveError('unavailable', `sqlite file '${path}': ${what ? `${what} (${said})` : said}`, {
    ...(fix && { fix }),
    cause: error,
  })
}
