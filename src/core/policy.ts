import type { Millis } from './time.ts'

/** When and how often to try again. */
export interface Policy {
  readonly name: string
  readonly backoff: Backoff
  /** Retries after the first attempt; 0 buries on the first failure. */
  readonly retries: number
  /** No retry may be due later than this after the first failure. */
  readonly window?: Millis
  /** Of failures that nobody knows only so many are retried. Absent: `UNKNOWN_RETRIES`. */
  readonly unknownRetries?: number
}

export type Backoff = PlainBackoff | { readonly kind: 'tiers'; readonly tiers: readonly Tier[] }

export type PlainBackoff =
  | {
      readonly kind: 'exponential'
      readonly initial: Millis
      readonly multiplier: number
      readonly max: Millis
      /** The exponent of the first retry: 0 waits about `initial`, 1 waits `initial × multiplier`. */
      readonly firstExponent: 0 | 1
      readonly jitter: Jitter
    }
  | {
      readonly kind: 'linear'
      readonly initial: Millis
      readonly step: Millis
      /** No step is shorter than this, before jitter. */
      readonly min?: Millis
      readonly max: Millis
      readonly jitter: Jitter
    }
  | {
      /** Anything between `initial` and `multiplier` times the delay before; it is its own jitter. */
      readonly kind: 'decorrelated'
      readonly initial: Millis
      readonly multiplier: number
      readonly max: Millis
    }
  | { readonly kind: 'fixed'; readonly delay: Millis; readonly jitter: Jitter }
  | { readonly kind: 'none' }

/**
 * Progressive backoff: each tier holds up to and including its retry number, the last one for ever. Its formula goes
 * by the number of the retry, not by the number within the tier.
 */
export interface Tier {
  readonly upTo: number
  readonly backoff: PlainBackoff
}

/**
 *   none     d
 *   full     anything in [0, d]
 *   half     anything in [d/2, d], and only then capped
 *   wide     anything in [d/2, 3d/2]
 *   spread   d ± ratio
 *
 * Except for half, d is capped before the jitter: those who reached the cap must not all wait the same time, so that
 * wide and spread may go beyond it.
 */
export type Jitter =
  | { readonly kind: 'none' | 'full' | 'half' | 'wide' }
  | { readonly kind: 'spread'; readonly ratio: number }

const SECOND = 1000
const MINUTE = 60 * SECOND

const exponential = (
  name: string,
  initial: Millis,
  max: Millis,
  retries: number,
  window: Millis,
): Policy => ({
  name,
  backoff: {
    kind: 'exponential',
    initial,
    multiplier: 2,
    max,
    firstExponent: 0,
    jitter: { kind: 'half' },
  },
  retries,
  window,
})

/** The built-in policies, by name. */
export const POLICIES = {
  aggressive: exponential('aggressive', 500, 5 * SECOND, 3, 15 * SECOND),
  standard: exponential('standard', SECOND, 30 * SECOND, 5, 5 * MINUTE),
  patient: exponential('patient', 2 * SECOND, 60 * SECOND, 8, 15 * MINUTE),
  critical: exponential('critical', SECOND, 120 * SECOND, 12, 30 * MINUTE),
  none: { name: 'none', backoff: { kind: 'none' }, retries: 0 },
} as const satisfies Record<string, Policy>
