import type { Backoff, Jitter, PlainBackoff } from './policy.ts'
import type { Millis } from './time.ts'

/** A throw of the dice, in [0, 1). */
export type Roll = () => number

/** How long to wait before the given retry (1 = the first). Looking changes nothing: there is no cursor. */
export const delayOf = (backoff: Backoff, retry: number, roll: Roll): Millis => {
  if (backoff.kind === 'tiers') {
    const tier = backoff.tiers.find(({ upTo }) => retry <= upTo) ?? backoff.tiers.at(-1)
    return tier ? plainDelay(tier.backoff, retry, roll) : 0
  }
  return plainDelay(backoff, retry, roll)
}

const plainDelay = (backoff: PlainBackoff, retry: number, roll: Roll): Millis => {
  switch (backoff.kind) {
    case 'none':
      return 0
    case 'fixed':
      return Math.round(spread(backoff.delay, backoff.jitter, roll))
    case 'linear':
      return capped(backoff.initial + backoff.step * (retry - 1), backoff, roll)
    case 'exponential': {
      const exponent = retry - 1 + backoff.firstExponent
      return capped(backoff.initial * backoff.multiplier ** exponent, backoff, roll)
    }
  }
}

/**
 * Where jitter only shortens (full, half), the cap comes after it; where it may lengthen (spread, wide), the cap
 * comes first and the jitter spreads around it: otherwise everyone who reached the cap would wait the same time.
 */
const capped = (delay: Millis, { max, jitter }: { max: Millis; jitter: Jitter }, roll: Roll): Millis => {
  const shortens = jitter.kind === 'full' || jitter.kind === 'half'
  const spreadOut = shortens
    ? Math.min(spread(delay, jitter, roll), max)
    : spread(Math.min(delay, max), jitter, roll)
  return Math.round(spreadOut)
}

const spread = (delay: Millis, jitter: Jitter, roll: Roll): Millis => {
  switch (jitter.kind) {
    case 'none':
      return delay
    case 'full':
      return delay * roll()
    case 'half':
      return delay * (0.5 + roll() * 0.5)
    case 'wide':
      return delay * (0.5 + roll())
    case 'spread':
      return delay * (1 - jitter.ratio + roll() * 2 * jitter.ratio)
  }
}
