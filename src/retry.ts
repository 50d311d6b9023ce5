import { systemClock } from './adapters/system/clock.ts'
import { systemDice } from './adapters/system/dice.ts'
import type { Clock } from './contracts/tools.ts'
import type { Millis } from './core/time.ts'
import { createDeadlines, type Deadlines } from './runtime/deadline.ts'
import { createGuard, type Guard, type GuardOptions } from './runtime/guard.ts'
import { type BreakerSpec, breakerRules } from './runtime/guard-rules.ts'
import { type RetryFunction, runRetry } from './runtime/retry.ts'
import { type Ending, RetryFailed } from './runtime/retry-failed.ts'
import { planOf, type RetryOptions } from './runtime/retry-options.ts'

/** How a call ended, as a value. */
export type RetryOutcome<T> =
  | { readonly outcome: 'done'; readonly value: T; readonly attempts: number; readonly duration: Millis }
  | Ending

export interface Run {
  /** Answers with what `fn` answers, or throws `RetryFailed`. */
  <T>(fn: RetryFunction<T>, signal?: AbortSignal): Promise<T>
  /** The same, with the ending as a value. */
  outcome<T>(fn: RetryFunction<T>, signal?: AbortSignal): Promise<RetryOutcome<T>>
}

export interface Retry {
  <T>(fn: RetryFunction<T>, options?: RetryOptions): Promise<T>
  outcome<T>(fn: RetryFunction<T>, options?: RetryOptions): Promise<RetryOutcome<T>>
  /** Reads the options once, for calls that are made often. */
  with(options: RetryOptions): Run
}

const dice = systemDice()

/** One sweep of deadlines for all that go by the same clock. */
const deadlines = new WeakMap<Clock, Deadlines>()

const deadlinesOf = (clock: Clock): Deadlines => {
  const known = deadlines.get(clock) ?? createDeadlines(clock)
  deadlines.set(clock, known)
  return known
}

const compile = (options: RetryOptions): Run => {
  const clock = options.clock ?? systemClock
  const plan = planOf(options, { clock, dice: options.dice ?? dice, deadlines: deadlinesOf(clock) })
  const run = <T>(fn: RetryFunction<T>, signal = options.signal): Promise<T> =>
    new Promise((resolve, reject) => runRetry(plan, fn, signal, resolve, reject))
  const outcome = <T>(fn: RetryFunction<T>, signal = options.signal): Promise<RetryOutcome<T>> =>
    new Promise((resolve, reject) =>
      runRetry(
        plan,
        fn,
        signal,
        (value, attempts, duration) => resolve({ outcome: 'done', value, attempts, duration: duration() }),
        (error) => (error instanceof RetryFailed ? resolve(error.ending) : reject(error)),
      ),
    )
  return Object.assign(run, { outcome })
}

/** Calls `fn` until it ends well, by a policy, a breaker and deadlines. */
export const retry: Retry = Object.assign(
  async <T>(fn: RetryFunction<T>, options: RetryOptions = {}): Promise<T> => compile(options)(fn),
  {
    outcome: async <T>(fn: RetryFunction<T>, options: RetryOptions = {}): Promise<RetryOutcome<T>> =>
      compile(options).outcome(fn),
    with: compile,
  },
)

/** A breaker for all calls to one dependency: by the name of one that is built in, or by its rules. */
export const createBreaker = (rules: string | BreakerSpec = {}, options: Partial<GuardOptions> = {}): Guard =>
  createGuard(breakerRules(rules), { clock: systemClock, dice, ...options })
