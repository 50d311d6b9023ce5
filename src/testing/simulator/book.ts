import type { Millis } from '../../core/time.ts'
import { type RuleBook, readRules } from '../../rules/index.ts'
import type { Chance } from './chance.ts'

export const LEASE = 3000
export const TIMEOUT = 400
export const CONCURRENCY = 3
/** Of the dependency `mail`. */
export const BREAKER = { failures: 3, open: 2000, probes: 1 }
/** So often an event may kill its process. */
export const KILLS = 3
export const BUDGET = { ratio: 0.2, perSecond: 1, burst: 2 }

/** What chance decides of the rules. */
export interface Choices {
  /** How beta keeps effects single. */
  readonly pattern: string
  readonly policy: string
  /** gamma is in order by key. */
  readonly ordered: boolean
  /** And a dead key of gamma's is held. */
  readonly held: boolean
  /** The dependency has a breaker beside its budget. */
  readonly guarded: boolean
  /** How long an event is worth handling for beta. */
  readonly ttl: Millis | undefined
  readonly batch: BatchChoices
}

/** Of delta, which takes batches. */
export interface BatchChoices {
  readonly size: number
  readonly timeout: Millis
  readonly concurrency: number
  readonly by: 'none' | 'source'
  /** It is in order by key. */
  readonly ordered: boolean
}

/** Of its batcher for what hurries. */
export const URGENT_SIZE = 2

export const choicesOf = (chance: Chance, batches: boolean): Choices => {
  const ordered = chance.happens(0.7)
  return {
    pattern: chance.pick(['dedup', 'upsert', 'state', 'none']),
    policy: chance.pick(['fixed', 'rising', 'fixed', 'long']),
    ordered,
    held: ordered && chance.happens(0.35),
    guarded: chance.happens(0.7),
    ttl: chance.pick([undefined, undefined, 2000]),
    batch: batches ? chance.pick(BATCHES) : BATCHES[0],
  }
}

/** Few, like all that is chosen here: to read another book for each seed takes half as long as to play it. */
const BATCHES: readonly [BatchChoices, ...BatchChoices[]] = [
  { size: 2, timeout: 30, concurrency: 1, by: 'none', ordered: false },
  { size: 3, timeout: 150, concurrency: 2, by: 'none', ordered: false },
  { size: 5, timeout: 400, concurrency: 1, by: 'source', ordered: false },
  { size: 4, timeout: 150, concurrency: 1, by: 'none', ordered: true },
]

const orderOf = (ordered: boolean, held = false): string =>
  `order: ${ordered ? 'key' : 'none'}${held ? ', afterDeath: hold' : ''}`

export const yamlOf = ({ pattern, policy, ordered, held, guarded, ttl, batch }: Choices): string => `
version: 1
policies:
  fixed: { backoff: fixed, delay: 60ms, jitter: none, retries: 3 }
  rising: { backoff: exponential, initial: 100ms, multiplier: 3, max: 2s, jitter: full, retries: 4 }
  long: { backoff: fixed, delay: 7s, jitter: none, retries: 1 }
breakers:
  touchy: { failures: ${BREAKER.failures}, open: ${BREAKER.open}ms, probes: ${BREAKER.probes}, successes: 1 }
dependencies:
  mail:
    timeout: 200ms
    breaker: ${guarded ? 'touchy' : 'none'}
    budget: { ratio: ${BUDGET.ratio * 100}%, perSecond: ${BUDGET.perSecond}, burst: ${BUDGET.burst} }
defaults: { policy: ${policy}, timeout: ${TIMEOUT}ms, lease: ${LEASE}ms, concurrency: ${CONCURRENCY}, breaker: none }
services:
  alpha: { idempotency: { pattern: dedup }, events: { mail.sent: { dependencies: [mail] } } }
  beta: { idempotency: { pattern: ${pattern} }, window: 4, concurrency: 1, lease: 600ms${ttl === undefined ? '' : `, ttl: ${ttl}ms`} }
  gamma: { idempotency: { pattern: dedup }, ${orderOf(ordered, held)} }
  delta:
    idempotency: { pattern: dedup }
    ${orderOf(batch.ordered)}
    batchers:
      calm: { size: ${batch.size}, timeout: ${batch.timeout}ms, concurrency: ${batch.concurrency}, by: ${batch.by} }
      urgent: { size: ${URGENT_SIZE}, timeout: 10ms, concurrency: 1, priorities: [high, critical] }
    batch: calm
  epsilon: { idempotency: { pattern: transaction } }
`

/** Reading one takes as long as playing half of a seed. */
const books = new Map<string, RuleBook>()

export const readBook = (yaml: string): RuleBook => {
  const book = books.get(yaml) ?? readRules(yaml, 'simulated.yaml')
  books.set(yaml, book)
  return book
}
