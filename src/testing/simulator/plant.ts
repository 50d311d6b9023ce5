import type { Rows } from '../../adapters/memory/ledger.ts'
import type { Ledger } from '../../contracts/ledger.ts'
import type { Transport } from '../../contracts/transport.ts'
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
  readonly ackFirst?: 'bury' | 'later'
  /** The text of the rule book as the runtime reads it; the model keeps to the right one. */
  readonly book?: (yaml: string) => string
}
