import type { Board } from './board.ts'
import type { Ledger } from './ledger.ts'
import type { Letters } from './letters.ts'
import type { Transport } from './transport.ts'

/** A database: ledger, board, letters, and the waiting room for what the transport can't keep itself. */
export interface Store {
  readonly name: string
  readonly ledger: Ledger
  readonly board: Board
  readonly letters: Letters
  /** The store's own transport, used as companion beside a broker. Whoever opened the store closes both. */
  readonly companion?: Transport
  close(): Promise<void>
}
