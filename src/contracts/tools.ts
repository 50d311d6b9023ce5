import type { Instant, Millis } from '../core/time.ts'
import type { Journal } from './journal.ts'

/** Time, always injected. */
export interface Clock {
  now(): Instant
  /**
   * Resolves after `ms`, or at once when the signal aborts; it never rejects. Sleeping 0 ends this turn of the event
   * loop and goes on in the next, on a virtual clock too.
   */
  sleep(ms: Millis, signal?: AbortSignal): Promise<void>
  /** Resolves within this turn, when all has gone on that waits for nothing outside. Absent: whoever asks sleeps 0. */
  soon?(): Promise<void>
}

/** Chance, always injected. */
export interface Dice {
  /** Uniform in [0, 1). */
  next(): number
  /** A UUIDv7: ids that we mint sort by time, so that tables grow at their end. */
  uuid(): string
}

/** What every adapter is given when it is opened. */
export interface Tools {
  readonly clock: Clock
  readonly dice: Dice
  readonly journal: Journal
}
