import { z } from 'zod'
import { METRICS, type Metric, type Unit } from './builtin.ts'
import {
  choice,
  duration,
  jitter,
  list,
  mapping,
  name,
  named,
  number,
  pattern,
  percent,
  reference,
  template,
  text,
  timeout,
  whole,
} from './fields.ts'
import { PLACEHOLDERS } from './naming.ts'

/** What the book defines or has built in, so that a wrong name is found where it stands. */
export interface Names {
  readonly policies: ReadonlySet<string>
  readonly breakers: ReadonlySet<string>
  readonly timeouts: ReadonlySet<string>
  readonly dependencies: ReadonlySet<string>
  readonly stores: ReadonlySet<string>
}

const CATEGORY = choice('transient', 'rate-limited', 'permanent', 'unknown')

const plainBackoff = {
  initial: duration.optional(),
  multiplier: number(1, 100).optional(),
  max: duration.optional(),
  firstExponent: whole(0, 1).optional(),
  step: duration.optional(),
  delay: duration.optional(),
  jitter: jitter.optional(),
}

/** Written flat; which keys go with which backoff is checked in check.ts, where `extends` can be followed. */
const policyShape = (names: Names) =>
  mapping({
    extends: reference('policy', names.policies).optional(),
    backoff: choice('exponential', 'linear', 'fixed', 'none', 'tiers').optional(),
    ...plainBackoff,
    tiers: list(
      mapping({
        upTo: whole(1, 10_000),
        backoff: choice('exponential', 'linear', 'fixed', 'none'),
        ...plainBackoff,
      }),
      100,
    ).optional(),
    /** Retries after the first attempt, or attempts with the first included. */
    retries: whole(0, 10_000).optional(),
    attempts: whole(1, 10_001).optional(),
    window: duration.optional(),
  })

const breakerShape = (names: Names) =>
  mapping({
    extends: reference('breaker', names.breakers).optional(),
    failures: whole(1).optional(),
    open: duration.optional(),
    probes: whole(1, 1000).optional(),
    successes: whole(1, 1000).optional(),
    interval: duration.optional(),
  })

const breakerOf = (names: Names) =>
  z.union([reference('breaker', names.breakers), breakerShape(names)], {
    error: 'the name of a breaker, or a mapping',
  })

const thresholdOf = (unit: Unit) =>
  unit === 'ratio' ? percent : unit === 'ms' ? duration : number(0, 1_000_000_000)

const alertShape = (unit: Unit) => {
  const alert = mapping({
    above: thresholdOf(unit).optional(),
    from: thresholdOf(unit).optional(),
    atLeast: whole(0).optional(),
    severity: choice('info', 'warning', 'critical').optional(),
    action: text.optional(),
  }).refine(({ above, from }) => above === undefined || from === undefined, {
    error: "'above' or 'from', not both",
  })
  return z.union([choice('off'), alert], { error: "a mapping, or 'off'" })
}

const alerts = mapping(
  Object.fromEntries(
    Object.entries(METRICS).map(([metric, { unit }]) => [metric, alertShape(unit).optional()]),
  ) as Record<Metric, z.ZodOptional<ReturnType<typeof alertShape>>>,
)

const override = mapping({
  match: mapping({
    code: text.optional(),
    name: text.optional(),
    status: whole(100, 599).optional(),
    message: text.optional(),
  }).refine((match) => Object.values(match).some((value) => value !== undefined), {
    error: 'at least one of code, name, status, message',
  }),
  category: CATEGORY,
  reason: text,
})

const poison = z.union(
  [
    choice('off'),
    mapping({
      failures: whole(1, 1000).optional(),
      within: duration.optional(),
      categories: list(CATEGORY, 4).optional(),
      crashes: whole(1, 1000).optional(),
    }),
  ],
  { error: "a mapping, or 'off'" },
)

/** What can be said of an event: in its own row, for a whole service, or for all. The nearest word counts. */
const eventRules = (names: Names) => ({
  policy: z
    .union([reference('policy', names.policies), policyShape(names)], {
      error: 'the name of a policy, or a mapping',
    })
    .optional(),
  timeout: timeout(names.timeouts).optional(),
  breaker: breakerOf(names).optional(),
  dependencies: list(reference('dependency', names.dependencies), 100).optional(),
  idempotency: mapping({
    pattern: choice('dedup', 'upsert', 'state', 'transaction', 'none').optional(),
    store: reference('store', names.stores).optional(),
    ttl: duration.optional(),
    key: choice('id', 'id+correlation').optional(),
  }).optional(),
  deadLetter: mapping({
    destination: template(PLACEHOLDERS.deadLetter).optional(),
    quarantine: template(PLACEHOLDERS.quarantine).optional(),
    retention: duration.optional(),
    expire: duration.optional(),
    reprocessing: choice('manual', 'automatic', 'filtered').optional(),
  }).optional(),
  overrides: list(override).optional(),
  poison: poison.optional(),
  alerts: alerts.optional(),
  channel: name.optional(),
  order: choice('none', 'key').optional(),
  afterDeath: choice('continue', 'hold').optional(),
  batch: mapping({
    size: whole(1, 10_000).optional(),
    timeout: duration.optional(),
    concurrency: whole(1, 10_000).optional(),
    by: choice('none', 'source').optional(),
  }).optional(),
  ttl: duration.optional(),
  priority: choice('low', 'normal', 'high', 'critical').optional(),
  criticality: choice('low', 'medium', 'high', 'critical').optional(),
  dataLoss: choice('acceptable', 'unacceptable').optional(),
})

const serviceOnly = {
  concurrency: whole(1, 10_000).optional(),
  window: whole(1, 100_000).optional(),
  lease: duration.optional(),
}

const target = (names: Names) =>
  mapping({
    policy: reference('policy', names.policies).optional(),
    timeout: timeout(names.timeouts).optional(),
    breaker: reference('breaker', names.breakers).optional(),
  })

export const bookSchema = (names: Names) => {
  const rules = eventRules(names)
  return mapping({
    version: z.preprocess((value) => (value === '1' ? 1 : value), z.literal(1, { error: 'version: 1' })),
    naming: mapping({
      deadLetter: template(PLACEHOLDERS.deadLetter).optional(),
      quarantine: template(PLACEHOLDERS.quarantine).optional(),
      consumerGroup: template(PLACEHOLDERS.consumerGroup).optional(),
      receipts: template(PLACEHOLDERS.receipts).optional(),
    }).optional(),
    topics: named(
      name,
      z.union([list(pattern), mapping({ types: list(pattern), retention: duration.optional() })], {
        error: 'a list of event names, or a mapping',
      }),
    ).optional(),
    policies: named(name, policyShape(names)).optional(),
    breakers: named(name, breakerShape(names)).optional(),
    timeouts: named(name, duration).optional(),
    dependencies: named(
      name,
      mapping({
        extends: reference('dependency', names.dependencies).optional(),
        timeout: timeout(names.timeouts).optional(),
        timeouts: named(name, duration).optional(),
        breaker: breakerOf(names).optional(),
      }),
    ).optional(),
    stores: named(name, z.string({ error: 'a URL, or nothing' }).nullable()).optional(),
    defaults: mapping({ ...serviceOnly, ...rules }).optional(),
    services: named(
      name,
      mapping({
        consumerGroup: name.optional(),
        ...serviceOnly,
        ...rules,
        events: named(pattern, mapping(rules)).optional(),
      }),
    ).optional(),
    dapr: mapping({
      namespace: name.optional(),
      scopes: list(name).optional(),
      components: named(
        name,
        mapping({ inbound: target(names).optional(), outbound: target(names).optional() }),
      ).optional(),
      apps: named(name, target(names)).optional(),
    }).optional(),
  })
}

type Written = NonNullable<z.output<ReturnType<typeof bookSchema>>>

export type WrittenBook = Written
export type WrittenService = NonNullable<Written['services']>[string]
export type WrittenRules = NonNullable<WrittenService['events']>[string]
export type WrittenDefaults = NonNullable<Written['defaults']>
export type WrittenPolicy = NonNullable<Written['policies']>[string]
export type WrittenBreaker = NonNullable<Written['breakers']>[string]
export type WrittenDependency = NonNullable<Written['dependencies']>[string]
export type WrittenAlert = NonNullable<NonNullable<WrittenRules['alerts']>[Metric]>
