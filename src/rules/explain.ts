import type { Backoff, PlainBackoff } from '../core/policy.ts'
import type { Breaker } from './builtin.ts'
import type { Rules } from './rules.ts'
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
    windowMs: rules.policy.window ?? null,
  },
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
  dependencies: rules.dependencies.map(({ name, timeout, timeouts, breaker }) => ({
    name,
    timeoutMs: timeout,
    operationTimeoutsMs: timeouts,
    breaker: breaker ? explainBreaker(breaker) : null,
  })),
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
  batch: rules.batch
    ? {
        size: rules.batch.size,
        timeoutMs: rules.batch.timeout,
        concurrency: rules.batch.concurrency,
        by: rules.batch.by,
      }
    : null,
  ttlMs: rules.ttl ?? null,
  alerts: rules.alerts.map((alert) => ({ ...alert, text: showAlert(alert) })),
  provenance: rules.provenance,
})

const explainPlain = (backoff: PlainBackoff) => ({
  backoff: backoff.kind,
  initialMs: 'initial' in backoff ? backoff.initial : 'delay' in backoff ? backoff.delay : null,
  multiplier: 'multiplier' in backoff ? backoff.multiplier : null,
  stepMs: 'step' in backoff ? backoff.step : null,
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
        maxDelayMs: null,
        firstExponent: null,
        jitter: null,
        tiers: backoff.tiers.map((tier) => ({ upTo: tier.upTo, ...explainPlain(tier.backoff) })),
      }
    : { ...explainPlain(backoff), tiers: null }

const explainBreaker = ({ name, failures, open, probes, successes, interval }: Breaker) => ({
  name,
  failures,
  openMs: open,
  probes,
  successes,
  intervalMs: interval ?? null,
})

export type Explained = ReturnType<typeof explain>
