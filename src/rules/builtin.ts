import type { BreakerRules } from '../core/breaker.ts'
import type { BudgetRules } from '../core/budget.ts'
import type { PoisonRules } from '../core/poison.ts'
import type { Millis } from '../core/time.ts'
import type { Naming } from './naming.ts'

/** What applies where no rule book says otherwise. */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export type Breaker = BreakerRules
export type Budget = BudgetRules

/** A named downstream. */
export interface Dependency {
  readonly name: string
  readonly timeout: Millis
  /** For single operations of it, by name. */
  readonly timeouts: Readonly<Record<string, Millis>>
  readonly breaker?: Breaker
  readonly budget?: Budget
}

export type Poison = PoisonRules

export type Severity = 'info' | 'warning' | 'critical'
export type Unit = 'count' | 'per minute' | 'ratio' | 'ms'

export interface Alert {
  readonly metric: string
  readonly unit: Unit
  readonly over: '>' | '>='
  readonly threshold: number
  /** Below so many in all the alert stays quiet. */
  readonly atLeast?: number
  /** How long it must be over the threshold, and how long not, where the book says so. */
  readonly hold?: Millis
  readonly calm?: Millis
  readonly severity: Severity
  readonly action: string
}

const breaker = (
  name: string,
  failures: number,
  seconds: number,
  probes: number,
  others: { readonly successes?: number; readonly interval?: Millis } = {},
): Breaker => ({ name, failures, open: seconds * SECOND, probes, successes: 1, ...others })

const byName = <T extends { readonly name: string }>(...all: readonly T[]): ReadonlyMap<string, T> =>
  new Map(all.map((each) => [each.name, each]))

/** What a breaker or a dependency of the user's own starts from. */
export const BARE_BREAKER = breaker('bare', 5, 30, 1)
export const BARE_TIMEOUT = 15 * SECOND

export const BREAKERS = byName(
  breaker('kafkaBreaker', 5, 60, 1, { interval: MINUTE }),
  breaker('stateBreaker', 3, 30, 1, { interval: 30 * SECOND }),
  breaker('externalBreaker', 5, 120, 2, { interval: 2 * MINUTE }),
  breaker('sidecarBreaker', 3, 15, 1, { interval: 15 * SECOND }),
  breaker('handlerBreaker', 5, 30, 1, { successes: 2 }),
)

/** In place of a breaker's name: none at all. */
export const NO_BREAKER = 'none'

/** What a budget starts from, where it leaves something out. */
export const BARE_BUDGET: Budget = { ratio: 0.2, perSecond: 10, burst: 100 }

const dependency = (
  guard: Breaker,
  seconds: number,
  operations: Readonly<Record<string, number>>,
): Dependency => ({
  name: guard.name,
  timeout: seconds * SECOND,
  timeouts: Object.fromEntries(Object.entries(operations).map(([name, each]) => [name, each * SECOND])),
  breaker: guard,
})

export const DEPENDENCIES = byName(
  dependency(breaker('kafka', 5, 60, 1), 10, { produce: 10, consume: 30 }),
  dependency(breaker('pubsub', 5, 60, 1), 10, { publish: 10 }),
  dependency(breaker('redis', 3, 30, 1), 5, { get: 5, set: 5 }),
  dependency(breaker('postgres', 3, 30, 1), 10, { query: 10 }),
  dependency(breaker('smtp', 5, 120, 1), 30, { send: 30 }),
  dependency(breaker('sms', 3, 120, 1), 15, { send: 15 }),
  dependency(breaker('webhook', 5, 60, 2), 30, { call: 30 }),
  dependency(breaker('service', 3, 15, 1), 15, { invoke: 15 }),
  dependency(breaker('jobs', 3, 15, 1), 5, { schedule: 5 }),
)

export const TIMEOUTS: ReadonlyMap<string, Millis> = new Map([
  ['fast', 5 * SECOND],
  ['default', 15 * SECOND],
  ['slow', 30 * SECOND],
])

/** The app's own store; the other names a book may use without giving a URL. */
export const APP_STORE = 'app'
export const STORES: readonly string[] = [APP_STORE, 'memory', 'sqlite', 'postgres', 'redis']

export const NAMING: Naming = {
  deadLetter: '_{service}.deadletter[.{channel}]',
  quarantine: '{deadLetter}.quarantine',
  consumerGroup: '{service}',
  receipts: 'reprieve.receipts',
}

export const POISON: Poison = { failures: 3, within: MINUTE, categories: ['unknown'], crashes: 3 }

export const DEFAULTS = {
  policy: 'standard',
  timeout: 15 * SECOND,
  pattern: 'dedup',
  ledgerTtl: 7 * DAY,
  ledgerKey: 'id',
  retention: 30 * DAY,
  reprocessing: 'manual',
  order: 'none',
  afterDeath: 'continue',
  criticality: 'medium',
  dataLoss: 'unacceptable',
  batch: { size: 25, timeout: 2 * SECOND, concurrency: 5, by: 'none' },
  demand: { poll: SECOND, atOnce: 50, min: 5, max: 20 },
  concurrency: 10,
  /** Deliveries held per worker, so that one is ready when another ends. */
  windowPerWorker: 2,
  /** The shortest lease, and how much longer than the longest timeout it is. */
  lease: 30 * SECOND,
  leaseSlack: 15 * SECOND,
} as const

/** What can be watched, in which unit, and what is done about it unless the book says otherwise. */
export const METRICS = {
  retryRate: { unit: 'ratio', severity: 'warning', action: 'Look at the health of the dependencies' },
  inflow: { unit: 'per minute', severity: 'critical', action: 'Call who is on duty; look downstream' },
  lag: { unit: 'count', severity: 'warning', action: 'Add workers, or find out what slows them' },
  lagAge: { unit: 'ms', severity: 'warning', action: 'Add workers, or find out what slows them' },
  breakerOpen: { unit: 'ms', severity: 'critical', action: 'The dependency is down: fail over or mend it' },
  depth: { unit: 'count', severity: 'warning', action: 'Dead letters grow faster than they are worked off' },
  oldest: { unit: 'ms', severity: 'warning', action: 'Look at the dead letters nobody has looked at' },
  errorShare: { unit: 'ratio', severity: 'warning', action: 'One cause behind most failures: find it' },
  batchTimeouts: {
    unit: 'ratio',
    severity: 'warning',
    action: 'Make batches smaller or their timeout longer',
  },
  duplicates: { unit: 'ratio', severity: 'warning', action: 'Ask the producer why it publishes twice' },
  quarantined: {
    unit: 'count',
    severity: 'critical',
    action: 'Find out what is in the message; release or discard it',
  },
  criticalBatches: {
    unit: 'count',
    severity: 'critical',
    action: 'Events that matter failed with their batch: look at them first',
  },
} as const satisfies Record<string, { unit: Unit; severity: Severity; action: string }>

export type Metric = keyof typeof METRICS

export const THRESHOLDS: Readonly<Partial<Record<Metric, number>>> = {
  retryRate: 0.1,
  inflow: 10,
  lag: 1000,
  breakerOpen: 5 * MINUTE,
  depth: 1000,
  oldest: 48 * HOUR,
  quarantined: 0,
  criticalBatches: 0,
}
