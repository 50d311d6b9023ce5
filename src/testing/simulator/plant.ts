import type { Box } from '../../adapters/memory/box.ts'
import type { Rows } from '../../adapters/memory/ledger.ts'
import type { Ledger } from '../../contracts/ledger.ts'
import type { Transport } from '../../contracts/transport.ts'
import type { Outbox, Tx } from '../../contracts/tx.ts'
import type { BatchHandler } from '../../runtime/batch-handler.ts'
import type { Client } from './database.ts'
import type { Life } from './life.ts'
import type { Law } from './violation.ts'

/** A bug put in on purpose, at one of the seams. The simulator must find it. */
export interface Plant {
  readonly name: string
  readonly what: string
  /** The promises it breaks: one of them must be noticed. */
  readonly breaks: readonly Law[]
  /** What a process is given in place of its transport. */
  readonly transport?: (transport: Transport, life: Life) => Transport
  readonly ledger?: (ledger: Ledger, life: Life) => Ledger
  /** In the world: the rows of the ledger, and the transport below the model's eyes. */
  readonly rows?: (rows: Rows) => Rows
  readonly under?: (transport: Transport) => Transport
  /** What stands between the runtime and the batch handler. */
  readonly batch?: <Data>(handler: BatchHandler<Data>) => BatchHandler<Data>
  /** The user's transactions, and the transport of the same process. */
  readonly tx?: (tx: Tx<Client>, transport: Transport) => Tx<Client>
  /** What waits to be published, in whichever database. */
  readonly outbox?: (outbox: Outbox) => Outbox
  /** Effects in the store's own transactions are committed by themselves. */
  readonly apart?: true
  /** What waits for one subscription: changed as it is made. */
  readonly box?: (box: Box) => void
  readonly ackFirst?: 'bury' | 'later'
  /** What the office passes over, whatever the operator said. */
  readonly although?: readonly 'expired'[]
  /** The text of the rule book as the runtime reads it; the model keeps to the right one. */
  readonly book?: (yaml: string) => string
}
