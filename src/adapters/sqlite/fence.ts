import { constants, type DatabaseSync } from 'node:sqlite'

/** Runs a work of the user's, during which no statement may end our transaction or write to our tables. */
export type Fence = <T>(work: () => T) => T

const { SQLITE_OK, SQLITE_DENY, SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH } =
  constants
const { SQLITE_PRAGMA, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE, SQLITE_DROP_TABLE, SQLITE_ALTER_TABLE } =
  constants

const NEVER = [SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH, SQLITE_PRAGMA]
const WRITING = [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE, SQLITE_DROP_TABLE]

/**
 * Set once for a connection, for to set it anew makes SQLite prepare every statement again; it is asked when a statement is
 * prepared, not when it runs.
 */
export const fenceOn = (database: DatabaseSync): Fence => {
  let within = false
  const refuses = (action: number, first: string | null, second: string | null): boolean =>
    NEVER.includes(action) ||
    (WRITING.includes(action) && isOurs(first)) ||
    (action === SQLITE_ALTER_TABLE && isOurs(second))
  // Node 22 has none: there the transaction is only looked at when the work is over
  database.setAuthorizer?.((action, first, second) =>
    within && refuses(action, first, second) ? SQLITE_DENY : SQLITE_OK,
  )
  return (work) => {
    within = true
    try {
      return work()
    } finally {
      within = false
    }
  }
}

const isOurs = (table: string | null): boolean => table?.toLowerCase().startsWith('reprieve_') ?? false
