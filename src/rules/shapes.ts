import { z } from 'zod'
import { METRICS, type Metric, NO_BREAKER, type Unit } from './builtin.ts'
import {
  callsOrTime,
  choice,
  duration,
  headerName,
  jitter,
  jsonPath,
  list,
  mapping,
  name,
  number,
  pattern,
  percent,
  reference,
  text,
  whole,
} from './fields.ts'

/** What the book defines or has built in, so that a wrong name is found where it stands. */
export interface Names {
  readonly policies: ReadonlySet<string>
  readonly breakers: ReadonlySet<string>
  readonly timeouts: ReadonlySet<string>
  readonly dependencies: ReadonlySet<string>
  readonly stores: ReadonlySet<string>
}

const CATEGORY = choice('transient', 'rate-limited', 'permanent', 'unknown')
export const PRIORITY = choice('low', 'normal', 'high', 'critical')

const plainBackoff = {
  initial: duration.optional(),
  multiplier: number(1, 100).optional(),
  min: duration.optional(),
  max: duration.optional(),
  firstExponent: whole(0, 1).optional(),
  step: duration.optional(),
  delay: duration.optional(),
  jitter: jitter.optional(),
}

/** Written flat; which keys go with which backoff is checked in check.ts, where `extends` can be followed. */
export const policyShape = (names: Pick<Names, 'policies'>) =>
  mapping({
    extends: reference('policy', names.policies).optional(),
    backoff: choice('exponential', 'linear', 'decorrelated', 'fixed', 'none', 'tiers').optional(),
    ...plainBackoff,
    tiers: list(
      mapping({
        upTo: whole(1, 10_000),
        backoff: choice('exponential', 'linear', 'decorrelated', 'fixed', 'none'),
        ...plainBackoff,
      }),
      100,
    ).optional(),
    retries: whole(0, 10_000).optional(),
    attempts: whole(1, 10_001).optional(),
    window: duration.optional(),
    unknownRetries: whole(0, 10_000).optional(),
  })

/** By name, or in place. */
export const policyOf = (names: Names) =>
  z.union([reference('policy', names.policies), policyShape(names)], {
    error: 'the name of a policy, or a mapping',
  })

export const breakerShape = (names: Names) =>
  mapping({
    extends: reference('breaker', names.breakers).optional(),
    failures: whole(1).optional(),
    rate: percent.optional(),
    window: callsOrTime.optional(),
    volume: whole(1).optional(),
    open: duration.optional(),
    spread: percent.optional(),
    probes: whole(1, 1000).optional(),
    probeLease: duration.optional(),
    successes: whole(1, 1000).optional(),
    interval: duration.optional(),
    ramp: duration.optional(),
    quorum: whole(1, 1000).optional(),
  })

export const breakerOf = (names: Names) =>
  z.union([reference('breaker', names.breakers), breakerShape(names)], {
    error: 'the name of a breaker, or a mapping',
  })

export const budget = z.union(
  [
    choice(NO_BREAKER),
    mapping({
      ratio: percent.optional(),
      perSecond: number(0, 1_000_000).optional(),
      burst: whole(1).optional(),
    }),
  ],
  { error: "a mapping, or 'none'" },
)

export const recovery = z.union(
  [
    choice('off'),
    mapping({
      every: duration.optional(),
      most: whole(1, 1_000_000).optional(),
      times: whole(1, 100).optional(),
      reasons: list(choice('attempts exhausted', 'window exhausted'), 2).optional(),
    }),
  ],
  { error: "a mapping, or 'off'" },
)

/** Replays and purges by hand, of a whole set. */
export const operations = mapping({
  approval: z
    .union([choice('never', 'always'), mapping({ above: whole(0, 100_000_000) })], {
      error: 'never, always, or a mapping such as { above: 100 }',
    })
    .optional(),
  approvalLasts: duration.optional(),
  canary: mapping({
    size: whole(1, 10_000),
    wait: duration.optional(),
    deaths: percent.optional(),
  }).optional(),
  batch: whole(1, 1000).optional(),
  rate: number(0.01, 1_000_000).optional(),
  ttl: duration.optional(),
  reentry: whole(1, 100).optional(),
})

const thresholdOf = (unit: Unit) =>
  unit === 'ratio' ? percent : unit === 'ms' ? duration : number(0, 1_000_000_000)

const alertShape = (unit: Unit) => {
  const alert = mapping({
    above: thresholdOf(unit).optional(),
    from: thresholdOf(unit).optional(),
    atLeast: whole(0).optional(),
    for: duration.optional(),
    calm: duration.optional(),
    severity: choice('info', 'warning', 'critical').optional(),
    action: text.optional(),
  }).refine(({ above, from }) => above === undefined || from === undefined, {
    error: "'above' or 'from', not both",
  })
  return z.union([choice('off'), alert], { error: "a mapping, or 'off'" })
}

export const alerts = mapping(
  Object.fromEntries(
    Object.entries(METRICS).map(([metric, { unit }]) => [metric, alertShape(unit).optional()]),
  ) as Record<Metric, z.ZodOptional<ReturnType<typeof alertShape>>>,
)

export const override = mapping({
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

export const poison = z.union(
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

const batch = {
  size: whole(1, 10_000).optional(),
  timeout: duration.optional(),
  concurrency: whole(1, 10_000).optional(),
  by: choice('none', 'source').optional(),
}

export const batchShape = mapping(batch)
export const batcherShape = mapping({ ...batch, priorities: list(PRIORITY, 4).optional() })

export const demand = mapping({
  poll: duration.optional(),
  atOnce: whole(1, 10_000).optional(),
  min: whole(0, 10_000).optional(),
  max: whole(1, 10_000).optional(),
})

export const retention = z.union(
  [choice('off'), mapping({ every: duration.optional(), most: whole(1, 1_000_000).optional() })],
  { error: "a mapping, or 'off'" },
)

export const redaction = mapping({
  event: pattern.optional(),
  service: name.optional(),
  paths: list(jsonPath, 100).optional(),
  headers: list(headerName, 100).optional(),
})
