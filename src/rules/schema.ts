import { z } from 'zod'
import type { Metric } from './builtin.ts'
import {
  choice,
  duration,
  list,
  mapping,
  name,
  named,
  pattern,
  reference,
  template,
  text,
  timeout,
  whole,
  yesOrNo,
} from './fields.ts'
import { lintShape } from './lint/shape.ts'
import { PLACEHOLDERS } from './naming.ts'
import {
  alerts,
  batcherShape,
  batchShape,
  breakerOf,
  breakerShape,
  budget,
  demand,
  type Names,
  operations,
  override,
  PRIORITY,
  poison,
  policyOf,
  policyShape,
  recovery,
  redaction,
  retention,
} from './shapes.ts'

/** What can be said of an event: in its own row, for a whole service, or for all. The nearest word counts. */
const eventRules = (names: Names) => ({
  policy: policyOf(names).optional(),
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
  // whether a batcher of that name is there for this service, check.ts knows
  batch: z.union([name, batchShape], { error: 'the name of a batcher, a mapping, or off' }).optional(),
  ttl: duration.optional(),
  priority: PRIORITY.optional(),
  criticality: choice('low', 'medium', 'high', 'critical').optional(),
  dataLoss: choice('acceptable', 'unacceptable').optional(),
})

const serviceOnly = {
  concurrency: whole(1, 10_000).optional(),
  window: whole(1, 100_000).optional(),
  lease: duration.optional(),
  demand: demand.optional(),
  transactions: yesOrNo.optional(),
  batchers: named(name, batcherShape).optional(),
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
    // followed before the book is looked at as a whole
    extends: z.union([text, list(text, 16)], { error: 'the path of a book, or a list of them' }).optional(),
    lint: lintShape.optional(),
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
        budget: budget.optional(),
      }),
    ).optional(),
    recovery: recovery.optional(),
    foreign: named(
      text,
      mapping({
        service: name.optional(),
        topic: name.optional(),
        replay: choice('origin', 'queue', 'service', 'off').optional(),
      }),
    ).optional(),
    retention: retention.optional(),
    redact: named(name, redaction).optional(),
    operations: operations.optional(),
    stores: named(name, z.string({ error: 'a URL, or nothing' }).nullable()).optional(),
    defaults: mapping({ ...serviceOnly, ...rules }).optional(),
    services: named(
      name,
      mapping({
        consumerGroup: name.optional(),
        ...serviceOnly,
        ...rules,
        events: named(pattern, mapping({ ...rules, concurrency: serviceOnly.concurrency })).optional(),
      }),
    ).optional(),
    dapr: mapping({
      namespace: name.optional(),
      scopes: list(name).optional(),
      /** The component that carries the subscriptions; else the one that is of kind pubsub. */
      pubsub: name.optional(),
      components: named(
        name,
        mapping({
          /** Else it is taken for a pub/sub component where its name says so. */
          kind: choice('pubsub', 'state', 'binding').optional(),
          inbound: target(names).optional(),
          outbound: target(names).optional(),
        }),
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
export type WrittenRecovery = Exclude<NonNullable<Written['recovery']>, 'off'>
export type WrittenForeign = NonNullable<Written['foreign']>[string]
export type WrittenRetention = NonNullable<Written['retention']>
export type WrittenRedaction = NonNullable<Written['redact']>[string]
export type WrittenOperations = NonNullable<Written['operations']>
export type WrittenAlert = NonNullable<NonNullable<WrittenRules['alerts']>[Metric]>
