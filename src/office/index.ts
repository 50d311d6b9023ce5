export { knownDestinations, rememberDestinations } from './destinations.ts'
export { createOffice, type Office, type ReplayResult } from './office.ts'
