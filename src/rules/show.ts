import type { Backoff, Jitter, PlainBackoff } from '../core/policy.ts'
import type { Millis } from '../core/time.ts'
import type { Totals } from '../core/totals.ts'
import type { Alert, Breaker, Budget, Poison } from './builtin.ts'
import { showDuration } from './duration.ts'
import type { Batch, Batcher, Demand } from './rules.ts'

/** Parts of the rules as short phrases for people. */

const percent = (ratio: number): string => `${Number((ratio * 100).toFixed(3))}%`

export const showJitter = (jitter: Jitter): string =>
  jitter.kind === 'spread' ? `±${percent(jitter.ratio)}` : jitter.kind

export const showAlert = ({ metric, over, threshold, unit, atLeast }: Alert): string => {
  const amount =
    unit === 'ratio'
      ? percent(threshold)
      : unit === 'ms'
        ? showDuration(threshold)
        : unit === 'per minute'
          ? `${threshold} a minute`
          : `${threshold}`
  return `${metric} ${over} ${amount}${atLeast === undefined ? '' : ` of at least ${atLeast}`}`
}

const showPlain = (backoff: PlainBackoff): string => {
  switch (backoff.kind) {
    case 'none':
      return 'at once'
    case 'fixed':
      return `every ${showDuration(backoff.delay)}, jitter ${showJitter(backoff.jitter)}`
    case 'linear':
      return `linear ${showDuration(backoff.initial)} + ${showDuration(backoff.step)}, ${backoff.min === undefined ? '' : `at least ${showDuration(backoff.min)}, `}at most ${showDuration(backoff.max)}, jitter ${showJitter(backoff.jitter)}`
    case 'decorrelated': {
      const { initial, multiplier, max } = backoff
      return `decorrelated from ${showDuration(initial)} to × ${multiplier} of the last, at most ${showDuration(max)}`
    }
    case 'exponential': {
      const { initial, multiplier, max, firstExponent, jitter } = backoff
      const start = firstExponent === 1 ? `${showDuration(initial)} × ${multiplier}` : showDuration(initial)
      return `exponential from ${start}, × ${multiplier}, at most ${showDuration(max)}, jitter ${showJitter(jitter)}`
    }
  }
}

export const showBackoff = (backoff: Backoff): string =>
  backoff.kind === 'tiers'
    ? backoff.tiers.map((tier) => `up to ${tier.upTo}: ${showPlain(tier.backoff)}`).join('; ')
    : showPlain(backoff)

const showProbes = (probes: number): string => `${probes} probe${probes === 1 ? '' : 's'}`

export const showBreaker = (breaker: Breaker): string => {
  const { name, failures, rate, window, open, spread, probes, successes, ramp } = breaker
  const span = window && ('calls' in window ? `${window.calls} calls` : showDuration(window.time))
  const share = rate === undefined ? '' : ` or ${percent(rate)} failed${span ? ` of ${span}` : ''}`
  const around = spread === undefined ? '' : ` ±${percent(spread)}`
  const slowly = ramp === undefined ? '' : `, full again after ${showDuration(ramp)}`
  return `${name}: opens on failure ${failures}${share} for ${showDuration(open)}${around}, ${showProbes(probes)}, closes on ${successes}${slowly}`
}

export const showBudget = ({ ratio, perSecond, burst }: Budget): string =>
  `${percent(ratio)} of the calls and ${perSecond} a second, at most ${burst} at once`

/** Sums of many waits: nobody needs their last millisecond. */
export const showTotals = ({ least, expected, greatest }: Totals): string =>
  [least, expected, greatest].map((ms) => showDuration(rounded(ms))).join(' to ')

const rounded = (ms: Millis): Millis => (ms < 10_000 ? Math.round(ms) : Math.round(ms / 100) * 100)

export const showBatch = ({
  name,
  size,
  timeout,
  concurrency,
  by,
  priorities,
}: Partial<Batcher> & Batch): string => {
  const whose = name === undefined ? '' : `${name}: `
  const together = by === 'none' ? '' : ` by ${by}`
  const which = priorities?.length ? `, takes ${priorities.join(' and ')}` : ''
  return `${whose}${size} or ${showDuration(timeout)}${together}, ${concurrency} at once${which}`
}

export const showDemand = ({ poll, atOnce, min, max }: Demand): string =>
  `every ${showDuration(poll)}, up to ${atOnce}; ${min} to ${max} a worker`

export const showPoison = ({ failures, within, categories, crashes }: Poison): string =>
  `${failures} of a sort within ${showDuration(within)} (${categories.join(', ')}), or ${crashes} crashes`
