/** The whole public surface of Reprieve. */

export { loadBook as loadRules } from './book.ts'
export { type ClientOptions, client } from './client.ts'
export type { Fact, Journal } from './contracts/journal.ts'
export type { KeptLetter, LetterFilter, LetterState } from './contracts/letters.ts'
export type { Item, KeptOperation } from './contracts/operations.ts'
export type { Clock, Dice } from './contracts/tools.ts'
export type { Mark, Marked, Outbox, Relayed, Sql, Tx } from './contracts/tx.ts'
export type { Act, AuditEntry, Break, BreakKind } from './core/audit.ts'
export { delayOf, type Roll } from './core/backoff.ts'
export {
  type BreakerRules,
  type BreakerState,
  breaker,
  closedBreaker,
  type Permit,
  type Refusal,
} from './core/breaker.ts'
export type { BreakerCounts } from './core/breaker-counts.ts'
export { type BudgetRules, type BudgetState, budget, freshBudget } from './core/budget.ts'
export { classify, type Override } from './core/classify.ts'
export { type ErrorCode, ReprieveError } from './core/error.ts'
export {
  BusinessRule,
  Invalid,
  NotAllowed,
  Permanent,
  RateLimited,
  Throttled,
  Timeout,
  Transient,
} from './core/errors.ts'
export type { Event, Priority } from './core/event.ts'
export type { Category, Failure, Kind } from './core/failure.ts'
export { FINGERPRINT_VERSION, fingerprint } from './core/fingerprint.ts'
export type { DeathReason, Letter, Receipt } from './core/letter.ts'
export type { Canary, ItemState, Operation, OperationState } from './core/operation.ts'
export { freshPoison, type PoisonRules, type PoisonState, poison } from './core/poison.ts'
export { POLICIES, type Policy } from './core/policy.ts'
export type { Change, Columns, Upsert } from './core/sql.ts'
export { totalsOf } from './core/totals.ts'
export type { Trail } from './core/trail.ts'
export type {
  Acting,
  AuditFilter,
  Auditing,
  DiscardResult,
  Found,
  GroupOptions,
  Hand,
  Imported,
  LetterGroup,
  Life,
  Lives,
  Office,
  OperationsDesk,
  PlanOptions,
  RecoveryOptions,
  ReleaseResult,
  Removed,
  RepairOptions,
  RepairResult,
  ReplayOptions,
  ReplayResult,
  ResolveResult,
  RestoreResult,
  RetentionOptions,
  Selection,
  Stats,
  TendOptions,
  Verified,
  VersionStory,
} from './office/index.ts'
export { type Options, type Reprieve, reprieve } from './reprieve.ts'
export { createBreaker, type Retry, type RetryOutcome, type Run, retry } from './retry.ts'
export {
  explain,
  type PolicyFor,
  type PolicyInCode,
  type RuleBook,
  type Rules,
  rulesFor,
} from './rules/index.ts'
export { type LintFinding, lint } from './rules/lint/index.ts'
export type {
  BatchContext,
  BatchEntry,
  Batched,
  BatchHandler,
  BatchReply,
} from './runtime/batch-handler.ts'
export type { Client, Outgoing, ReceiveOptions } from './runtime/client.ts'
export type { Ended, Message } from './runtime/client-hold.ts'
export type {
  Change as BreakerChange,
  Guard as Breaker,
  GuardOptions as BreakerOptions,
} from './runtime/guard.ts'
export type { BreakerSpec } from './runtime/guard-rules.ts'
export {
  type Answer,
  type Context,
  dead,
  type Handled,
  type Handler,
  later,
  type PublishOptions,
  type Schema,
} from './runtime/handler.ts'
export { CallRefused } from './runtime/held.ts'
export type { Listen, Listener } from './runtime/listening.ts'
export type { Service } from './runtime/registrar.ts'
export type { RetryContext, RetryFunction, Retrying } from './runtime/retry.ts'
export { type Ending, type GaveUp, RetryFailed } from './runtime/retry-failed.ts'
export type { RetryOptions } from './runtime/retry-options.ts'
export type { PolicyName, PolicySpec } from './runtime/retry-policy.ts'
export type { JobContext, JobFunction } from './runtime/schedule.ts'
export { type Asking, changeIf, type Preparing, upsert } from './sql.ts'
