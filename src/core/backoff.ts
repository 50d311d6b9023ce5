import type { Backoff, Jitter, PlainBackoff } from './policy.ts'
import type { Millis } from './time.ts'

/** A throw of the dice, in [0, 1). */
export type Roll = () => number

/** What the dice choose from: anything between `low` and `high`, evenly, and what is above `cap` becomes it. */
export interface Span {
  readonly low: Millis
  readonly high: Millis
  readonly cap: Millis
}

/**
 * How long to wait before the given retry (1 = the first). Looking changes nothing: there is no cursor, and whoever
 * uses decorrelated backoff brings the delay before; without one it starts from `initial`.
 */
export const delayOf = (backoff: Backoff, retry: number, roll: Roll, previous?: Millis): Millis =>
  draw(spanOf(formulaOf(backoff, retry), retry, previous), roll)

/** One step more than `delayOf`: what the retry after it would wait. */
export const longerDelayOf = (backoff: Backoff, retry: number, roll: Roll, previous?: Millis): Millis => {
  const formula = formulaOf(backoff, retry + 1)
  const before = formula.kind === 'decorrelated' ? delayOf(formula, retry, roll, previous) : previous
  return draw(spanOf(formula, retry + 1, before), roll)
}

const NO_DELAY: PlainBackoff = { kind: 'none' }

/** The formula that holds for a retry. */
export const formulaOf = (backoff: Backoff, retry: number): PlainBackoff => {
  if (backoff.kind !== 'tiers') return backoff
  const tier = backoff.tiers.find(({ upTo }) => retry <= upTo) ?? backoff.tiers.at(-1)
  return tier?.backoff ?? NO_DELAY
}

const draw = ({ low, high, cap }: Span, roll: Roll): Millis =>
  Math.round(Math.min(high > low ? low + roll() * (high - low) : low, cap))

/** Ten years, as long as a rule book can say: whatever grows beyond it stays a number one can count with. */
const LONGEST: Millis = 3650 * 24 * 60 * 60 * 1000

export const spanOf = (backoff: PlainBackoff, retry: number, previous?: Millis): Span => {
  switch (backoff.kind) {
    case 'none':
      return { low: 0, high: 0, cap: 0 }
    case 'fixed':
      return jittered(backoff.delay, LONGEST, backoff.jitter)
    case 'linear': {
      const { initial, step, min = 0, max, jitter } = backoff
      return jittered(Math.max(min, initial + step * (retry - 1)), max, jitter)
    }
    case 'exponential': {
      const { initial, multiplier, max, firstExponent, jitter } = backoff
      return jittered(grown(initial, multiplier ** (retry - 1 + firstExponent)), max, jitter)
    }
    case 'decorrelated': {
      const { initial, multiplier } = backoff
      const max = Math.min(backoff.max, LONGEST)
      // written so that what is no number, in a trail that someone else wrote, counts as none
      const from = previous !== undefined && previous > initial ? Math.min(previous, max) : initial
      return { low: initial, high: Math.max(initial, grown(from, multiplier)), cap: max }
    }
  }
}

/** 0 times Infinity is not a number, but no delay times anything is still none. */
const grown = (delay: Millis, factor: number): Millis => (delay === 0 ? 0 : delay * factor)

const jittered = (delay: Millis, most: Millis, jitter: Jitter): Span => {
  const max = Math.min(most, LONGEST)
  const capped = Math.min(delay, max)
  switch (jitter.kind) {
    case 'none':
      return between(capped, capped)
    case 'full':
      return between(0, capped)
    case 'half': {
      // all of [max, 2 max] is capped to max: beyond it nothing changes, and nothing becomes infinite
      const high = Math.min(delay, 2 * max)
      return { low: high / 2, high, cap: max }
    }
    case 'wide':
      return between(capped * 0.5, capped * 1.5)
    case 'spread':
      return between(capped * (1 - jitter.ratio), capped * (1 + jitter.ratio))
  }
}

const between = (low: Millis, high: Millis): Span => ({ low, high, cap: high })
