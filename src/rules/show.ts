import type { Backoff, Jitter, PlainBackoff } from '../core/policy.ts'
import type { Alert, Breaker, Poison } from './builtin.ts'
import { showDuration } from './duration.ts'

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
      return `linear ${showDuration(backoff.initial)} + ${showDuration(backoff.step)}, at most ${showDuration(backoff.max)}, jitter ${showJitter(backoff.jitter)}`
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

export const showBreaker = ({ name, failures, open, probes, successes }: Breaker): string =>
  `${name}: opens on failure ${failures} for ${showDuration(open)}, ${probes} probe${probes === 1 ? '' : 's'}, closes on ${successes}`

export const showPoison = ({ failures, within, categories, crashes }: Poison): string =>
  `${failures} of a sort within ${showDuration(within)} (${categories.join(', ')}), or ${crashes} crashes`
