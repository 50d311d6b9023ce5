import type { Audit } from './audit.ts'
import type { Board } from './board.ts'
import type { Ledger } from './ledger.ts'
import type { Letters } from './letters.ts'
import type { Operations } from './operations.ts'
import type { Transport } from './transport.ts'
import type { StoreTx } from './tx.ts'

/** A database. Every one keeps a ledger and a board; a rule book can name it for its ledger alone. */
export interface Store {
  readonly name: string
  readonly ledger: Ledger
  readonly board: Board
  readonly letters?: Letters
  /** Where the letters are, for acts on letters are written with them. */
  readonly audit?: Audit
  /** Makes what letters and audit need beyond a ledger, which else their first use does: an app would rather fail at its start. */
  readonly ready?: () => Promise<void>
  /** Where the letters are, for the same reason. */
  readonly operations?: Operations
  /** The store's own transport, used as companion beside a broker. Whoever opened the store closes both. */
  readonly companion?: Transport
  /** Where effects of handlers can share its commits. */
  readonly tx?: StoreTx
  close(): Promise<void>
}

/** One that can be an app's own store: it keeps the dead letters and the audit too. */
export interface AppStore extends Store {
  readonly letters: Letters
  readonly audit: Audit
  readonly operations: Operations
}
