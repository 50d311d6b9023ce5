import type { Millis } from './time.ts'

/**
 * When a breaker opens, and how it closes again. N failures open it on the Nth (Dapr's `consecutiveFailures > N`
 * opens one later).
 */
export interface BreakerRules {
  readonly name: string
  /** So many failures in a row open it. */
  readonly failures: number
  /** This share of failures (0..1) among the calls of the window opens it too. */
  readonly rate?: number
  /** The last so many calls, or the calls of the last so long. Absent: the last 100 calls. */
  readonly window?: { readonly calls: number } | { readonly time: Millis }
  /** Below so many calls in the window the rate means nothing. Absent: 10, or as many as the window holds. */
  readonly volume?: number
  readonly open: Millis
  /** ± this share of the open time, by dice, so that many breakers don't probe at one moment. */
  readonly spread?: number
  /** So many calls at once while half-open. */
  readonly probes: number
  /** A probe unanswered for so long is lost, and its place free. Absent: as long as `open`. */
  readonly probeLease?: Millis
  /** Successes of probes that close it again. */
  readonly successes: number
  /** Failures older than this don't count any more. Absent: only a success makes it forget. */
  readonly interval?: Millis
  /** For so long after closing only a growing share of the calls is let through. */
  readonly ramp?: Millis
  /**
   * So many processes must have opened by their own evidence before it opens in all. Absent: 2, and never more than there
   * are.
   */
  readonly quorum?: number
}
