import type { Category, Kind } from './failure.ts'
import { type Finding, finding } from './finding.ts'

type Judged = readonly [number: number, name: string, Category, Kind?]

// SQLite's primary result codes. Unknown are those where neither the event is at fault nor waiting is known to help.
const RESULTS: readonly Judged[] = [
  [1, 'ERROR', 'permanent'], // bad SQL, no such table, malformed JSON: SQLSTATE's 22 and 42 in one
  [2, 'INTERNAL', 'unknown'],
  [3, 'PERM', 'unknown'],
  [4, 'ABORT', 'transient'], // rolled back by another statement
  [5, 'BUSY', 'transient'],
  [6, 'LOCKED', 'transient'],
  [7, 'NOMEM', 'transient'],
  [8, 'READONLY', 'unknown'],
  [9, 'INTERRUPT', 'transient', 'timeout'],
  [10, 'IOERR', 'transient'],
  [11, 'CORRUPT', 'permanent'], // no attempt mends it, and one that writes may spread it
  [13, 'FULL', 'transient'], // until someone makes room, as SQLSTATE 53100
  [14, 'CANTOPEN', 'transient'], // what a refused connection is elsewhere
  [15, 'PROTOCOL', 'transient'], // too many raced for the lock
  [17, 'SCHEMA', 'transient'], // it changed meanwhile: prepare again
  [18, 'TOOBIG', 'permanent'],
  [19, 'CONSTRAINT', 'permanent'],
  [20, 'MISMATCH', 'permanent'],
  [21, 'MISUSE', 'unknown'],
  [23, 'AUTH', 'permanent', 'auth'],
  [25, 'RANGE', 'permanent'],
  [26, 'NOTADB', 'permanent'],
]

/** Of an extended result code, such as 2067, the lowest byte is the primary one. */
export const sqliteName = (result: number): string => {
  const primary = result & 0xff
  const name = RESULTS.find(([number]) => number === primary)?.[1]
  return name === undefined ? `SQLITE_${primary}` : `SQLITE_${name}`
}

/** `SQLITE_BUSY`, or an extended name as other drivers give: `SQLITE_BUSY_SNAPSHOT`. */
export const fromSqlite = (code: string): Finding => {
  const [, name] = code.split('_')
  const found = RESULTS.find((each) => each[1] === name)
  return found ? finding(code, found[2], found[3]) : finding(code, 'unknown')
}
