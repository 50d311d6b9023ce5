import type { RetryOptions, RetryOutcome } from '../../src/index.ts'
import { retry } from '../../src/index.ts'
import type { RetryFunction } from '../../src/runtime/retry.ts'
import { loadedDice, virtualClock } from '../../src/testing/index.ts'

/** `retry` on a clock of its own, which is turned until the call has ended. */
export const stage = (options: RetryOptions, seed = 1) => {
  const clock = virtualClock()
  const begun = clock.now()
  const compiled = retry.with({ clock, dice: loadedDice(seed), ...options })
  const run = <T>(fn: RetryFunction<T>): Promise<T> => clock.runUntil(compiled(fn))
  const outcome = <T>(fn: RetryFunction<T>): Promise<RetryOutcome<T>> => clock.runUntil(compiled.outcome(fn))
  return { clock, begun, compiled, run, outcome }
}

export const failing = (error: unknown) => async (): Promise<never> => {
  throw error
}
