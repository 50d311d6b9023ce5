import type { Backoff, PlainBackoff } from '../core/policy.ts'
import { totalsOf } from '../core/totals.ts'
import { UNKNOWN_RETRIES } from '../core/verdict.ts'
import type { Breaker, Dependency } from './builtin.ts'
import type { Batch, Rules, ServiceRules } from './rules.ts'
import { showAlert, showJitter } from './show.ts'

/** The rules of a pair for programs: every field there, null where nothing applies. */
export const explain = (rules: Rules) => ({
  service: rules.service,
  event: rules.event,
  topic: rules.topic,
  consumerGroup: rules.consumerGroup,
  covered: rules.covered,
  criticality: rules.criticality,
  dataLoss: rules.dataLoss,
  priority: rules.priority ?? null,
  policy: {
    name: rules.policy.name,
    ...explainBackoff(rules.policy.backoff),
    maxRetries: rules.policy.retries,
    unknownRetries: rules.policy.unknownRetries ?? UNKNOWN_RETRIES,
    windowMs: rules.policy.window ?? null,
  },
  delays: explainDelays(rules),
  overrides: rules.overrides,
  idempotency: {
    pattern: rules.idempotency.pattern,
    store: rules.idempotency.store,
    ttlMs: rules.idempotency.ttl,
    key: rules.idempotency.key,
  },
  deadLetter: {
    destination: rules.deadLetter.destination,
    quarantine: rules.deadLetter.quarantine,
    retentionMs: rules.deadLetter.retention,
    expireMs: rules.deadLetter.expire ?? null,
    reprocessing: rules.deadLetter.reprocessing,
  },
  breaker: rules.breaker ? explainBreaker(rules.breaker) : null,
  timeoutMs: rules.timeout,
  dependencyTimeouts: Object.fromEntries(rules.dependencies.map(({ name, timeout }) => [name, timeout])),
  dependencies: rules.dependencies.map(explainDependency),
  poison: rules.poison
    ? {
        failures: rules.poison.failures,
        withinMs: rules.poison.within,
        categories: rules.poison.categories,
        crashes: rules.poison.crashes,
      }
    : null,
  order: rules.order,
  afterDeath: rules.afterDeath,
  channel: rules.channel ?? null,
  batch: rules.batch ? explainBatch(rules.batch) : null,
  concurrency: rules.concurrency?.most ?? null,
  ttlMs: rules.ttl ?? null,
  alerts: rules.alerts.map((alert) => ({ ...alert, text: showAlert(alert) })),
  provenance: rules.provenance,
})

/** All waits of the policy added up, from the luckiest throw of the dice to the unluckiest. */
const explainDelays = ({ policy }: Rules) => {
  const { least, expected, greatest } = totalsOf(policy)
  return { leastMs: Math.round(least), expectedMs: Math.round(expected), greatestMs: Math.round(greatest) }
}

const explainPlain = (backoff: PlainBackoff) => ({
  backoff: backoff.kind,
  initialMs: 'initial' in backoff ? backoff.initial : 'delay' in backoff ? backoff.delay : null,
  multiplier: 'multiplier' in backoff ? backoff.multiplier : null,
  stepMs: 'step' in backoff ? backoff.step : null,
  minDelayMs: ('min' in backoff ? backoff.min : undefined) ?? null,
  maxDelayMs: 'max' in backoff ? backoff.max : null,
  firstExponent: 'firstExponent' in backoff ? backoff.firstExponent : null,
  jitter: 'jitter' in backoff ? showJitter(backoff.jitter) : null,
})

const explainBackoff = (backoff: Backoff) =>
  backoff.kind === 'tiers'
    ? {
        backoff: 'tiers' as const,
        initialMs: null,
        multiplier: null,
        stepMs: null,
        minDelayMs: null,
        maxDelayMs: null,
        firstExponent: null,
        jitter: null,
        tiers: backoff.tiers.map((tier) => ({ upTo: tier.upTo, ...explainPlain(tier.backoff) })),
      }
    : { ...explainPlain(backoff), tiers: null }

const explainBreaker = (breaker: Breaker) => ({
  name: breaker.name,
  failures: breaker.failures,
  rate: breaker.rate ?? null,
  window: breaker.window
    ? 'calls' in breaker.window
      ? { calls: breaker.window.calls }
      : { timeMs: breaker.window.time }
    : null,
  volume: breaker.volume ?? null,
  openMs: breaker.open,
  spread: breaker.spread ?? null,
  probes: breaker.probes,
  probeLeaseMs: breaker.probeLease ?? null,
  successes: breaker.successes,
  intervalMs: breaker.interval ?? null,
  rampMs: breaker.ramp ?? null,
  quorum: breaker.quorum ?? null,
})

const explainDependency = ({ name, timeout, timeouts, breaker, budget }: Dependency) => ({
  name,
  timeoutMs: timeout,
  operationTimeoutsMs: timeouts,
  breaker: breaker ? explainBreaker(breaker) : null,
  budget: budget ?? null,
})

const explainBatch = ({ name, size, timeout, concurrency, by }: Batch) => ({
  name: name ?? null,
  size,
  timeoutMs: timeout,
  concurrency,
  by,
})

/** What holds for the service as a whole, for programs. */
export const explainService = ({
  concurrency,
  window,
  lease,
  demand,
  transactions,
  batchers,
  provenance,
}: ServiceRules) => ({
  concurrency,
  window,
  leaseMs: lease,
  demand: demand ? { pollMs: demand.poll, atOnce: demand.atOnce, min: demand.min, max: demand.max } : null,
  transactions,
  batchers: [...batchers.values()].map((batcher) => ({
    ...explainBatch(batcher),
    priorities: batcher.priorities ?? [],
  })),
  provenance,
})

export type Explained = ReturnType<typeof explain>
