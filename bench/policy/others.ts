import {
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleAll,
  retry,
  TimeoutStrategy,
  timeout,
  wrap,
} from 'cockatiel'
import CircuitBreaker from 'opossum'
import pRetry from 'p-retry'
import { ATTEMPTS, FAILURES, type Guarded, INITIAL, OPEN, TIMEOUT, type Work } from './calls.ts'

/** Retry around breaker around timeout, made once. The timeout leaves a hanging call behind, as ours does. */
export const byCockatiel = (): Guarded => {
  const guarded = wrap(
    retry(handleAll, {
      maxAttempts: ATTEMPTS - 1,
      backoff: new ExponentialBackoff({ initialDelay: INITIAL }),
    }),
    circuitBreaker(handleAll, { halfOpenAfter: OPEN, breaker: new ConsecutiveBreaker(FAILURES) }),
    timeout(TIMEOUT, TimeoutStrategy.Aggressive),
  )
  return { call: (work) => guarded.execute(work) }
}

/** The breaker alone: its own timeout is off. */
export const byOpossum = (work: Work): Guarded => {
  const breaker = new CircuitBreaker(work, { timeout: false, resetTimeout: OPEN })
  return { call: () => breaker.fire(), close: () => breaker.shutdown() }
}

/** Retries alone. */
export const byPRetry = (): Guarded => {
  const options = { retries: ATTEMPTS - 1, minTimeout: INITIAL, randomize: true }
  return { call: (work) => pRetry(work, options) }
}
