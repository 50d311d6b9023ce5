import type { Clock } from '../../contracts/tools.ts'
import type { Claim, LedgerKey } from '../../core/ledger.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { Unanswered } from '../../core/unanswered.ts'
import type { Bells } from './bells.ts'
import type { Ask, Pool } from './pool.ts'
import type { RowStatements } from './rows.ts'
import type { Subscriptions } from './subscriptions.ts'

/** What the inlets of one transport share. */
export interface Room {
  readonly pool: Pool
  readonly schema: string
  readonly clock: Clock
  readonly bells: Bells
  readonly subscriptions: Subscriptions
  /** How often an idle inlet looks for what other processes wrote. */
  readonly poll: Millis
  readonly ledger: RowStatements
  /** Claims that got no answer, of the store's ledger too. */
  readonly unanswered: Unanswered
  /** Within the transaction that takes what the claims are for. */
  claim(
    ask: Ask,
    keys: readonly LedgerKey[],
    asking: { readonly now: Instant; readonly until: Instant; readonly holder: string },
  ): Promise<readonly Claim[]>
}
