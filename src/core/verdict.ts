import { delayOf, longerDelayOf, type Roll } from './backoff.ts'
import type { Category, Failure } from './failure.ts'
import type { DeathReason } from './letter.ts'
import type { Policy } from './policy.ts'
import type { Instant, Millis } from './time.ts'
import { extendTrail, type Trail } from './trail.ts'

/** What one run of the handler did. */
export type Outcome =
  | { readonly is: 'done' }
  | { readonly is: 'failed'; readonly failure: Failure }
  /** The handler answered `later(…)`: not now, and no attempt is spent. */
  | { readonly is: 'put off'; readonly delay: Millis; readonly because: string }
  /** A breaker or a budget refused. No attempt is spent, but the event can't be held for ever: then it died of `failure`. */
  | {
      readonly is: 'held up'
      readonly delay: Millis
      readonly because: string
      readonly failure: Failure
    }
  /** The handler answered `dead(…)`, or the event can't be worth an attempt. */
  | { readonly is: 'refused'; readonly reason: DeathReason; readonly failure: Failure }

/** What should follow an outcome. */
export type Verdict =
  | { readonly do: 'done' }
  | { readonly do: 'retry'; readonly due: Instant; readonly trail: Trail }
  | {
      readonly do: 'dead' | 'quarantine'
      readonly reason: DeathReason
      readonly failure: Failure
      readonly trail: Trail
    }
  | { readonly do: 'hold'; readonly due: Instant; readonly because: string }

/** What the verdict needs to know of the rules. */
export interface Limits {
  readonly policy: Policy
  /** From then on the event is not worth handling. */
  readonly expires?: Instant | undefined
}

/** A failure nobody knows is tried again twice at most, unless told: it may be a defect that does harm each time. */
export const UNKNOWN_RETRIES = 2

/** Pure: the same rules, trail, outcome, moment and roll give the same verdict. */
export const decide = (
  { policy, expires }: Limits,
  trail: Trail,
  outcome: Outcome,
  now: Instant,
  roll: Roll,
): Verdict => {
  switch (outcome.is) {
    case 'done':
      return { do: 'done' }
    case 'put off':
      return { do: 'hold', due: now + outcome.delay, because: outcome.because }
    case 'held up':
      return afterRefusal(policy, expires, trail, outcome, now, roll)
    case 'refused':
      return dead(outcome.reason, outcome.failure, extendTrail(trail, outcome.failure, now))
    case 'failed':
      return afterFailure(policy, extendTrail(trail, outcome.failure, now), outcome.failure, now, roll)
  }
}

/** Those that are refused together must not come back together: a part of the wait is left to chance. */
const SPREAD = 0.1

/** An outage buries nothing, unless the event's own time is over before it could be tried again. */
const afterRefusal = (
  { window }: Policy,
  expires: Instant | undefined,
  trail: Trail,
  { delay, because, failure }: Extract<Outcome, { is: 'held up' }>,
  now: Instant,
  roll: Roll,
): Verdict => {
  const soonest = now + delay
  if (expires !== undefined && soonest >= expires) return dead('expired', failure, trail)
  const first = trail.firstFailureAt
  const last = window === undefined || first === undefined ? Number.POSITIVE_INFINITY : first + window
  if (soonest > last) return dead('window exhausted', failure, trail)
  // chance buries nothing either: it ends where the event's time does
  const latest = expires === undefined ? last : Math.min(last, expires - 1)
  const due = Math.min(now + Math.ceil(delay * (1 + SPREAD * roll())), latest)
  return { do: 'hold', due: Math.max(soonest, due), because }
}

const afterFailure = (policy: Policy, trail: Trail, failure: Failure, now: Instant, roll: Roll): Verdict => {
  if (failure.category === 'permanent') {
    return dead(failure.kind === 'schema' ? 'undecodable' : 'permanent', failure, trail)
  }
  const retry = trail.spent
  if (retry > limitOf(policy, failure.category, trail)) return dead('attempts exhausted', failure, trail)
  // a part of a millisecond is waited whole: never sooner than was asked
  const asked = failure.retryAfter === undefined ? undefined : Math.ceil(failure.retryAfter)
  const delay = asked ?? waitFor(policy, failure, trail, roll)
  const first = trail.firstFailureAt ?? now
  if (policy.window !== undefined && now + delay > first + policy.window) {
    return dead('window exhausted', failure, trail)
  }
  // what the other side asked for says nothing of our own pace
  return { do: 'retry', due: now + delay, trail: asked === undefined ? { ...trail, delay } : trail }
}

/** How many retries the policy grants, counted so that only unknown failures use up what those have. */
const limitOf = (policy: Policy, category: Category, trail: Trail): number => {
  if (category !== 'unknown') return policy.retries
  const others = trail.spent - (trail.counts.unknown ?? 0)
  return Math.min(policy.retries, others + (policy.unknownRetries ?? UNKNOWN_RETRIES))
}

/** Being throttled without a word on how long waits one step longer than failing. */
const waitFor = ({ backoff }: Policy, { category }: Failure, { spent, delay }: Trail, roll: Roll): Millis =>
  category === 'rate-limited'
    ? longerDelayOf(backoff, spent, roll, delay)
    : delayOf(backoff, spent, roll, delay)

const dead = (reason: DeathReason, failure: Failure, trail: Trail): Verdict => ({
  do: 'dead',
  reason,
  failure,
  trail,
})
