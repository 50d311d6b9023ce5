export type { Acting } from './acting.ts'
export { type AuditFilter, type Auditing, createAuditing, type Verified } from './auditing.ts'
export { foreignDestinations, knownDestinations, rememberDestinations } from './destinations.ts'
export { enactApart, enactTogether } from './enact.ts'
export type { Finding, Found, GroupOptions, TendOptions } from './finding.ts'
export { type LetterGroup, NOT_AT_AN_END } from './groups.ts'
export {
  createOffice,
  type DiscardResult,
  type Office,
  type ReleaseResult,
  type ReplayResult,
} from './office.ts'
export { type BreakerLine, createHand, type Hand } from './orders.ts'
export { type LetterRecord, recordOf } from './record.ts'
export { type Recovery, type RecoveryOptions, recover, scheduleRecovery } from './recovery.ts'
export type { Stats, SubscriptionStats } from './stats.ts'
