import type { Policy } from '../core/policy.ts'
import type { Millis } from '../core/time.ts'
import { type Breaker, type Dependency, NAMING, STORES, TIMEOUTS } from './builtin.ts'
import { buildBreakers, buildDependencies } from './guards.ts'
import type { Naming } from './naming.ts'
import { buildOperations, type OperationRules } from './operations.ts'
import type { Path, Place } from './place.ts'
import { buildPolicies, type PolicyFor } from './policies.ts'
import { present } from './present.ts'
import type {
  WrittenBook,
  WrittenDefaults,
  WrittenForeign,
  WrittenRecovery,
  WrittenRedaction,
  WrittenRetention,
  WrittenService,
} from './schema.ts'

/** A rule book that holds: what it says, over what is built in. Plain data; nothing in it changes. */
export interface RuleBook {
  readonly file?: string
  readonly naming: Naming
  readonly topics: ReadonlyMap<string, Topic>
  readonly policies: ReadonlyMap<string, Policy>
  readonly breakers: ReadonlyMap<string, Breaker>
  readonly timeouts: ReadonlyMap<string, Millis>
  readonly dependencies: ReadonlyMap<string, Dependency>
  /** URLs by name. undefined: known by name only, and served by the app's own store. URLs may hold secrets. */
  readonly stores: ReadonlyMap<string, string | undefined>
  /** Letters of transient failures go back by themselves; absent: they don't. */
  readonly recovery?: WrittenRecovery
  /** Queues and topics in which others leave their dead letters, by name. */
  readonly foreign: ReadonlyMap<string, WrittenForeign>
  /** How letters past their retention are removed; absent: as built in. */
  readonly retention?: WrittenRetention
  /** What must not be kept of events that die. */
  readonly redact: readonly WrittenRedaction[]
  /** How replays and purges of whole sets are done. */
  readonly operations: OperationRules
  readonly defaults: WrittenDefaults
  readonly services: ReadonlyMap<string, WrittenService>
  readonly dapr: NonNullable<WrittenBook['dapr']>
  /** What the book itself says, before anything built in is laid under it. */
  readonly written: Partial<WrittenBook>
  /** The book's own file first, then those that it extends. */
  readonly files: readonly string[]
  /** Where a path of the book is written: its key, or the item of a list. undefined: it is not. */
  placeOf(path: Path, what?: 'value'): Place | undefined
  /** Said in code: it comes before what is written. */
  readonly policyFor?: PolicyFor
}

export interface Topic {
  /** Which types are published there, exact or with a trailing star. */
  readonly types: readonly string[]
  /** How long the broker keeps what was published. */
  readonly retention?: Millis
}

export const buildBook = (
  written: Partial<WrittenBook>,
  files: readonly string[] = [],
  placeOf: RuleBook['placeOf'] = () => undefined,
): RuleBook => {
  const [file] = files
  const timeouts = new Map([...TIMEOUTS, ...Object.entries(written.timeouts ?? {})])
  const breakers = buildBreakers(written.breakers ?? {})
  return {
    ...(file !== undefined && { file }),
    naming: { ...NAMING, ...present(written.naming ?? {}) },
    topics: new Map(Object.entries(written.topics ?? {}).map(([name, entry]) => [name, topic(entry)])),
    policies: buildPolicies(written.policies ?? {}),
    breakers,
    timeouts,
    dependencies: buildDependencies(written.dependencies ?? {}, timeouts, breakers),
    stores: new Map([
      ...STORES.map((name) => [name, undefined] as const),
      ...Object.entries(written.stores ?? {}).map(([name, url]) => [name, url || undefined] as const),
    ]),
    ...(written.recovery !== undefined && written.recovery !== 'off' && { recovery: written.recovery }),
    foreign: new Map(Object.entries(written.foreign ?? {})),
    ...(written.retention !== undefined && { retention: written.retention }),
    redact: Object.values(written.redact ?? {}),
    operations: buildOperations(written.operations ?? {}),
    defaults: written.defaults ?? {},
    services: new Map(Object.entries(written.services ?? {})),
    dapr: written.dapr ?? {},
    written,
    files,
    placeOf,
  }
}

const topic = (entry: NonNullable<WrittenBook['topics']>[string]): Topic => {
  if ('types' in entry) {
    return {
      types: entry.types,
      ...(entry.retention !== undefined && { retention: entry.retention }),
    }
  }
  return { types: entry }
}

/** No rule book at all: everything as built in. */
export const emptyBook: RuleBook = buildBook({})
