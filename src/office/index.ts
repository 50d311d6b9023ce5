export { knownDestinations, rememberDestinations } from './destinations.ts'
export { createOffice, type DiscardResult, type Office, type ReplayResult } from './office.ts'
export { type BreakerLine, createHand, type Hand } from './orders.ts'
export { type Recovery, type RecoveryOptions, recover, scheduleRecovery } from './recovery.ts'
