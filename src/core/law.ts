import type { Span } from './backoff.ts'
import type { Millis } from './time.ts'

/** How one delay is distributed. */
export interface Law {
  readonly least: Millis
  readonly greatest: Millis
  readonly mean: number
  readonly variance: number
  /** The mean of what is left of it when whatever is longer than `most` counts as nothing. */
  meanUpTo(most: Millis): number
  /** Values that stand for all of them, each with its share. */
  points(): readonly Point[]
}

export type Point = readonly [value: number, share: number]

/**
 * X even between a and b, then capped at c. With c in [a, b], and p = (c − a) / (b − a) the share that stays below it:
 *
 *   mean         p (a + c) / 2 + (1 − p) c
 *   mean square  p (a² + a c + c²) / 3 + (1 − p) c²
 *   mean up to x (x² − a²) / 2 (b − a)   for x in [a, c)
 */
export const lawOfSpan = ({ low: a, high: b, cap }: Span): Law => {
  if (a >= cap || a === b) return constant(Math.min(a, cap))
  const c = Math.min(b, cap)
  const p = (c - a) / (b - a)
  const mean = (p * (a + c)) / 2 + (1 - p) * c
  const square = (p * (a * a + a * c + c * c)) / 3 + (1 - p) * c * c
  return {
    least: Math.round(a),
    greatest: Math.round(c),
    mean,
    variance: Math.max(0, square - mean * mean),
    meanUpTo: (x) => (x < a ? 0 : x >= c ? mean : (x * x - a * a) / (2 * (b - a))),
    points: () =>
      Array.from({ length: POINTS }, (_, i) => [
        Math.min(a + ((i + 0.5) / POINTS) * (b - a), cap),
        1 / POINTS,
      ]),
  }
}

const POINTS = 64

export const constant = (value: Millis): Law => ({
  least: Math.round(value),
  greatest: Math.round(value),
  mean: value,
  variance: 0,
  meanUpTo: (most) => (most >= value ? value : 0),
  points: () => [[value, 1]],
})
