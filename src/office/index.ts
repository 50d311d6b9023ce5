export { type Acting, needReason } from './acting.ts'
export type { KeptAlert } from './alerts.ts'
export { askedAuditing, askedHand, askedOffice } from './asking.ts'
export { type AuditFilter, type Auditing, createAuditing, type Verified } from './auditing.ts'
export { decisionsOf } from './decisions.ts'
export { foreignDestinations, knownDestinations, rememberDestinations } from './destinations.ts'
export { enactApart, enactTogether } from './enact.ts'
export type { Filing, Imported } from './filing.ts'
export type { Finding, Found, GroupOptions, TendOptions } from './finding.ts'
export { type LetterGroup, NOT_AT_AN_END } from './groups.ts'
export { QUIET_JOBS, scheduleGrouping } from './jobs.ts'
export type { Life, Lives } from './lives.ts'
export type { DiscardResult, ReleaseResult, ResolveResult, RestoreResult } from './moving.ts'
export { createOffice, type Office } from './office.ts'
export type { ItemOptions, OperationsDesk } from './operations.ts'
export { type BreakerLine, createHand, type Hand } from './orders.ts'
export type { PlanOptions } from './planning.ts'
export type { ReplayOptions, ReplayResult } from './quick.ts'
export { type LetterRecord, recordOf } from './record.ts'
export { type Recovery, type RecoveryOptions, recover, scheduleRecovery } from './recovery.ts'
export type { RepairOptions, RepairResult, VersionStory } from './repairing.ts'
export { type Removed, type RetentionOptions, scheduleRetention } from './retention.ts'
export type { Selection } from './selection.ts'
export type { Stats, SubscriptionStats } from './stats.ts'
export {
  type AlertList,
  createWatch,
  type History,
  scheduleWatch,
  type Watch,
} from './watch.ts'
