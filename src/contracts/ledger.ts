import type { Claim, Ending, Held, LedgerKey } from '../core/ledger.ts'
import type { Instant } from '../core/time.ts'

/** The idempotency store. What a claim answers is decided by `claimRow` in core/ledger.ts, the same everywhere. */
export interface Ledger {
  /** All keys in one durable step; answers in order. A key given twice is busy the second time. */
  claim(keys: readonly LedgerKey[], until: Instant): Promise<readonly Claim[]>
  /**
   * Marks a suspect (one with crashes) as begun, durably, before it is run; what is beyond suspicion needs no mark.
   * false: the token is no longer the current one, nothing was changed, and it must not be run.
   */
  begin(held: Held): Promise<boolean>
  renew(held: readonly Held[], until: Instant): Promise<void>
  /**
   * Of a holder that lives and was taken for dead: where its claim went to another, with a crash counted, that is taken back
   * (`acquitRow` in core/ledger.ts). true: it was. false: nothing was changed, maybe because the claim is still ours.
   */
  acquit(held: readonly Held[]): Promise<readonly boolean[]>
  /** false: the token is no longer the current one, and nothing was changed. */
  finish(ends: readonly Finish[]): Promise<readonly boolean[]>
}

export interface Finish {
  readonly held: Held
  readonly as: Ending
}
