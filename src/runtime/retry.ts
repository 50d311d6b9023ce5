import type { Clock, Dice } from '../contracts/tools.ts'
import type { Permit } from '../core/breaker.ts'
import type { classify, Override } from '../core/classify.ts'
import type { Failure } from '../core/failure.ts'
import type { DeathReason } from '../core/letter.ts'
import type { Policy } from '../core/policy.ts'
import type { Instant, Millis } from '../core/time.ts'
import { freshTrail, type Trail } from '../core/trail.ts'
import { decide } from '../core/verdict.ts'
import { type Deadlines, runWithin } from './deadline.ts'
import type { Guard } from './guard.ts'
import { type Ending, type GaveUp, RetryFailed } from './retry-failed.ts'

/** What `fn` is given. The signal is made when it is looked at. */
export interface RetryContext {
  /** Which attempt this is; the first is 1. */
  readonly attempt: number
  /** Aborts when the attempt's time or the whole time is over, or the caller's signal aborts. */
  readonly signal: AbortSignal
}

export type RetryFunction<T> = (context: RetryContext) => Promise<T> | T

/** Each is called at once, and what it throws ends the call. */
export interface RetryCallbacks {
  /** The breaker has agreed; `fn` is called next. */
  readonly onAttempt?: (about: { readonly attempt: number }) => void
  /** The attempt failed, and another one follows. */
  readonly onRetry?: (about: Retrying) => void
  readonly onSuccess?: (about: { readonly attempts: number; readonly duration: Millis }) => void
  readonly onFailure?: (ending: Ending) => void
}

export interface Retrying {
  /** The one that failed. */
  readonly attempt: number
  readonly delay: Millis
  readonly failure: Failure
  readonly error: unknown
}

/** Options as they are used, everything looked up and read. */
export interface RetryPlan extends RetryCallbacks {
  readonly policy: Policy
  readonly guard: Guard | undefined
  /** For each attempt, and for all of them with the waits between. */
  readonly timeout: Millis
  readonly overall: Millis
  readonly overrides: readonly Override[]
  readonly classify: typeof classify
  /** What a failure means to the breaker. */
  readonly counts: (failure: Failure) => 'failure' | 'success' | 'nothing'
  readonly clock: Clock
  readonly dice: Pick<Dice, 'next'>
  readonly deadlines: Deadlines
}

/** Calls `fn` by the plan until it ends well or nothing more is granted, and then one of the two, once. */
export const runRetry = <T>(
  plan: RetryPlan,
  fn: RetryFunction<T>,
  signal: AbortSignal | undefined,
  done: (value: T, attempts: number, duration: () => Millis) => void,
  gaveUp: (error: unknown) => void,
): void => new Run(plan, fn, signal, done, gaveUp).begin()

const REASONS: Readonly<Partial<Record<DeathReason, GaveUp>>> = {
  permanent: 'permanent',
  undecodable: 'permanent',
  'window exhausted': 'timed out',
}

/** Callbacks rather than promises: a call that ends well costs one promise, and so no more than a loop by hand. */
class Run<T> {
  readonly plan: RetryPlan
  readonly fn: RetryFunction<T>
  readonly stop: AbortSignal | undefined
  readonly done: (value: T, attempts: number, duration: () => Millis) => void
  readonly gaveUp: (error: unknown) => void
  readonly begun: Instant
  attempts = 0
  trail: Trail = freshTrail
  failure: Failure | undefined = undefined
  lastError: unknown = undefined
  opened = false

  constructor(
    plan: RetryPlan,
    fn: RetryFunction<T>,
    stop: AbortSignal | undefined,
    done: (value: T, attempts: number, duration: () => Millis) => void,
    gaveUp: (error: unknown) => void,
  ) {
    this.plan = plan
    this.fn = fn
    this.stop = stop
    this.done = done
    this.gaveUp = gaveUp
    this.begun = plan.clock.now()
  }

  begin(): void {
    this.attempt(this.plan.overall)
  }

  attempt(left: Millis) {
    const { plan, stop } = this
    if (stop?.aborted) return this.giveUp('aborted')
    const asked = plan.guard ? plan.guard.ask() : 0
    if (typeof asked !== 'number') {
      this.opened = true
      return this.giveUp('breaker open', asked.retryAt)
    }
    const attempt = ++this.attempts
    if (plan.onAttempt && !this.tell(() => plan.onAttempt?.({ attempt }))) return plan.guard?.ignore(asked)
    runWithin(
      plan.deadlines,
      Math.min(plan.timeout, left),
      'the attempt',
      stop,
      (signal) => this.fn(new Attempt(attempt, signal)),
      (value) => this.succeeded(asked, value),
      (error) => this.failed(asked, error),
    )
  }

  succeeded(permit: Permit, value: T) {
    const { plan, attempts } = this
    plan.guard?.success(permit)
    if (plan.onSuccess && !this.tell(() => plan.onSuccess?.({ attempts, duration: this.duration() }))) return
    this.done(value, attempts, () => this.duration())
  }

  failed(permit: Permit, error: unknown) {
    const { plan } = this
    if (this.stop?.aborted) {
      plan.guard?.ignore(permit)
      return this.giveUp('aborted')
    }
    const now = plan.clock.now()
    const failure = plan.classify(error, plan.overrides, now)
    this.lastError = error
    this.failure = failure
    this.tellBreaker(permit, failure)
    const verdict = decide(
      { policy: plan.policy },
      this.trail,
      { is: 'failed', failure },
      now,
      plan.dice.next,
    )
    const over = this.begun + plan.overall
    if (verdict.do !== 'retry') {
      const outcome = (verdict.do === 'dead' && REASONS[verdict.reason]) || 'attempts exceeded'
      return this.giveUp(outcome !== 'permanent' && now >= over ? 'timed out' : outcome)
    }
    // nobody gains by waiting for an attempt that could not be made
    if (verdict.due >= over) return this.giveUp('timed out')
    this.trail = verdict.trail
    const delay = verdict.due - now
    const { attempts: attempt } = this
    if (plan.onRetry && !this.tell(() => plan.onRetry?.({ attempt, delay, failure, error }))) return
    void this.again(delay)
  }

  tellBreaker(permit: Permit, failure: Failure): void {
    const { guard, counts } = this.plan
    if (!guard) return
    const means = counts(failure)
    if (means === 'failure') guard.failure(permit)
    else if (means === 'success') guard.success(permit)
    else guard.ignore(permit)
    if (guard.state.is === 'open' || guard.state.is === 'forced open') this.opened = true
  }

  async again(delay: Millis): Promise<void> {
    const { clock, overall } = this.plan
    await clock.sleep(delay, this.stop)
    const left = this.begun + overall - clock.now()
    // a sleep may last longer than it should, on a busy or sleeping machine
    if (left > 0 || this.stop?.aborted) this.attempt(left)
    else this.giveUp('timed out')
  }

  giveUp(outcome: GaveUp, retryAt?: Instant): void {
    const { plan, failure } = this
    const ending: Ending = {
      outcome,
      attempts: this.attempts,
      duration: this.duration(),
      lastError: outcome === 'aborted' ? this.stop?.reason : this.lastError,
      ...(failure && { failure }),
      breakerOpened: this.opened,
      ...(retryAt !== undefined && { retryAt }),
    }
    if (plan.onFailure && !this.tell(() => plan.onFailure?.(ending))) return
    this.gaveUp(new RetryFailed(ending, plan.clock.now()))
  }

  duration(): Millis {
    return this.plan.clock.now() - this.begun
  }

  /** Whether the callback returned. */
  tell(callback: () => void): boolean {
    try {
      callback()
      return true
    } catch (error) {
      this.gaveUp(error)
      return false
    }
  }
}

class Attempt implements RetryContext {
  readonly attempt: number
  readonly #signal: () => AbortSignal

  constructor(attempt: number, signal: () => AbortSignal) {
    this.attempt = attempt
    this.#signal = signal
  }

  get signal(): AbortSignal {
    return this.#signal()
  }
}
