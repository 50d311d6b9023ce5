/** The rule book: what a YAML text says for every service and event, over what is built in. */
export { batchFor } from './batches.ts'
export { emptyBook, type RuleBook, type Topic } from './book.ts'
export type {
  Alert,
  Breaker,
  Budget,
  Dependency,
  Metric,
  Poison,
  Severity,
  Unit,
} from './builtin.ts'
export { destinationsFor, rowsWithin } from './destinations.ts'
export { A_DURATION, readDuration, showDuration } from './duration.ts'
export type { Environment } from './environment.ts'
export { type Explained, explain, explainService } from './explain.ts'
export { jsonSchema } from './json-schema.ts'
export { readRules } from './load.ts'
export { type Naming, quarantineFor, quarantinesOf } from './naming.ts'
export { CANARY, type OperationRules } from './operations.ts'
export type { OtherBook, ReadOther } from './parts.ts'
export type { Path, Place } from './place.ts'
export type { PolicyFor, PolicyInCode } from './policies.ts'
export { withoutPolicyFor, withPolicyFor } from './policy-for.ts'
export { BadRules, type Problem, showProblem } from './problem.ts'
export { rulesFor } from './resolve.ts'
export type {
  Batch,
  Batcher,
  DeadLetter,
  Demand,
  Idempotency,
  Provenance,
  Rules,
  ServiceRules,
} from './rules.ts'
export type { WrittenRules, WrittenService } from './schema.ts'
export { dependencyOf, dependencyTimeout, serviceRules } from './services.ts'
export { storesFor } from './stores.ts'
export { explainText } from './tell.ts'
export { knownTypes, topicOf, topicsFor } from './topics.ts'
