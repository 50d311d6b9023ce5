import type { Clock, Dice } from '../contracts/tools.ts'
import { classify, type Override } from '../core/classify.ts'
import type { Failure } from '../core/failure.ts'
import type { Policy } from '../core/policy.ts'
import type { Millis } from '../core/time.ts'
import type { Deadlines } from './deadline.ts'
import type { Guard } from './guard.ts'
import type { RetryCallbacks, RetryPlan } from './retry.ts'
import { type Duration, millis } from './retry-duration.ts'
import { type PolicyName, type PolicySpec, policyOf } from './retry-policy.ts'

export interface RetryOptions extends RetryCallbacks {
  /** A name, a policy of a rule book, or one written in place. Default: `bare`. */
  readonly policy?: PolicyName | Policy | PolicySpec
  /** Made by `createBreaker`, and shared by all calls to one dependency. Asked before each attempt. */
  readonly breaker?: Guard
  /** For each attempt. A timeout is a failure like any other. Default: only the overall one. */
  readonly timeout?: Duration
  /** For all attempts and the waits between them. Default: 5 minutes. */
  readonly overall?: Duration
  /** Ends a running attempt or a wait at once. */
  readonly signal?: AbortSignal
  /** Where the classification would judge otherwise, as in a rule book. */
  readonly overrides?: readonly Override[]
  /** In place of the classification as a whole. */
  readonly classify?: typeof classify
  /** What a failure means to the breaker. Default: permanent ones say nothing of the dependency, all others count. */
  readonly counts?: (failure: Failure) => 'failure' | 'success' | 'nothing'
  readonly clock?: Clock
  readonly dice?: Pick<Dice, 'next'>
}

const OVERALL: Millis = 5 * 60_000

export interface RetryTools {
  readonly clock: Clock
  readonly dice: Pick<Dice, 'next'>
  readonly deadlines: Deadlines
}

/** Reads the options once. Throws what a user can mend. */
export const planOf = (options: RetryOptions, { clock, dice, deadlines }: RetryTools): RetryPlan => ({
  policy: policyOf(options.policy ?? 'bare'),
  guard: options.breaker,
  timeout: millis('timeout', options.timeout, Number.POSITIVE_INFINITY),
  overall: millis('overall', options.overall, OVERALL),
  overrides: options.overrides ?? [],
  classify: options.classify ?? classify,
  counts: options.counts ?? meaning,
  clock,
  dice: { next: () => dice.next() },
  deadlines,
  ...present('onAttempt', options.onAttempt),
  ...present('onRetry', options.onRetry),
  ...present('onSuccess', options.onSuccess),
  ...present('onFailure', options.onFailure),
})

const meaning: RetryPlan['counts'] = ({ category }) => (category === 'permanent' ? 'nothing' : 'failure')

const present = <K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { [key in K]?: V }
