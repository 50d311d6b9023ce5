import type { BreakerState, Signal, Step } from './breaker.ts'

/** What a breaker has seen. It decides nothing by them, and so they stand beside its state. */
export interface BreakerCounts {
  /** Let through. */
  readonly calls: number
  readonly successes: number
  readonly failures: number
  readonly rejections: number
  /** From one state into another. */
  readonly transitions: number
}

export const noCounts: BreakerCounts = { calls: 0, successes: 0, failures: 0, rejections: 0, transitions: 0 }

/** The counts after one more step. Late results count too: they change no state, but the call was made. */
export const tally = (
  counts: BreakerCounts,
  signal: Signal['is'],
  before: BreakerState,
  step: Step,
): BreakerCounts => ({
  calls: counts.calls + ('permit' in step ? 1 : 0),
  successes: counts.successes + (signal === 'success' ? 1 : 0),
  failures: counts.failures + (signal === 'failure' ? 1 : 0),
  rejections: counts.rejections + ('refused' in step ? 1 : 0),
  transitions: counts.transitions + (step.state.is === before.is ? 0 : 1),
})
