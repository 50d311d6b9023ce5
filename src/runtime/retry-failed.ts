import { FAILURE, type Told } from '../core/errors.ts'
import type { Category, Failure } from '../core/failure.ts'
import type { Instant, Millis } from '../core/time.ts'

/**
 *   timed out           the overall time, or the policy's window, is over or would be before the next attempt
 *   attempts exceeded   the policy grants no more
 *   permanent           trying again can't help
 *   breaker open        the breaker refused an attempt
 *   aborted             the caller's signal
 */
export type GaveUp = 'timed out' | 'attempts exceeded' | 'permanent' | 'breaker open' | 'aborted'

/** How a call ended that did not end well. */
export interface Ending {
  readonly outcome: GaveUp
  /** Made, the last one included. */
  readonly attempts: number
  readonly duration: Millis
  /** What the last attempt threw; or the signal's reason, where it was aborted. */
  readonly lastError: unknown
  /** The last attempt's error, classified. Absent where none was made, or none had failed when it was aborted. */
  readonly failure?: Failure
  /** Whether the breaker refused, or opened on one of these attempts. */
  readonly breakerOpened: boolean
  /** When the breaker is worth asking again, where it refused. */
  readonly retryAt?: Instant
}

/** Thrown by `retry`. A handler that lets it pass is treated by what it says. */
export class RetryFailed extends Error implements Ending {
  declare readonly [FAILURE]: Told
  readonly outcome: GaveUp
  readonly attempts: number
  readonly duration: Millis
  readonly lastError: unknown
  declare readonly failure?: Failure
  readonly breakerOpened: boolean
  declare readonly retryAt?: Instant
  declare readonly ending: Ending

  constructor(ending: Ending, now: Instant) {
    super(tell(ending), { cause: ending.lastError })
    this.name = 'RetryFailed'
    this.outcome = ending.outcome
    this.attempts = ending.attempts
    this.duration = ending.duration
    this.lastError = ending.lastError
    if (ending.failure) this.failure = ending.failure
    this.breakerOpened = ending.breakerOpened
    if (ending.retryAt !== undefined) this.retryAt = ending.retryAt
    // not enumerable: they should not clutter printed errors
    Object.defineProperty(this, 'ending', { value: ending })
    Object.defineProperty(this, FAILURE, { value: toldOf(ending, now) })
  }
}

const tell = ({ outcome, attempts, duration, failure, retryAt }: Ending): string => {
  const made = `${outcome} after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} in ${duration} ms`
  const asked = retryAt === undefined ? '' : `, worth asking again at ${new Date(retryAt).toISOString()}`
  return failure ? `${made}${asked}: ${failure.message}` : `${made}${asked}`
}

const CATEGORIES: Readonly<Record<Exclude<GaveUp, 'attempts exceeded'>, Category>> = {
  'timed out': 'transient',
  permanent: 'permanent',
  'breaker open': 'transient',
  aborted: 'transient',
}

/** For whoever classifies it: an open breaker or a lack of time says nothing against the event at hand. */
const toldOf = ({ outcome, failure, retryAt }: Ending, now: Instant): Told => ({
  category: outcome === 'attempts exceeded' ? (failure?.category ?? 'unknown') : CATEGORIES[outcome],
  kind: failure?.kind ?? (outcome === 'breaker open' ? 'integration' : 'timeout'),
  retryAfter: retryAt === undefined ? failure?.retryAfter : Math.max(0, retryAt - now),
})
