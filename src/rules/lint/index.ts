/** Rules lint: what in a rule book will go wrong, and how to mend it. */
export type { LintFinding } from './finding.ts'
export { CHECKS, type CheckId, type LintSeverity } from './ids.ts'
export { lint, loadFindings } from './lint.ts'
export type { Facts, TransportFacts } from './scope.ts'
