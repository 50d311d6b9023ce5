import { constant, type Law, lawOfSpan, type Point } from './law.ts'
import type { PlainBackoff } from './policy.ts'
import type { Millis } from './time.ts'

/** What can be said of decorrelated delays in advance, although each grows out of the one before. */

type Decorrelated = Extract<PlainBackoff, { kind: 'decorrelated' }>

const CELLS = 128

/**
 * The law of a decorrelated delay out of the law of the one before. Given that one, x, it is even between `initial` and
 * `multiplier` × x, then capped. The shares of x's points fall into cells, each a little wider than the one below, and
 * what is capped on its top; the mean is exact for the points given.
 */
export const decorrelatedAfter = ({ initial, multiplier, max }: Decorrelated, before: Law): Law => {
  const top = Math.min(max, Math.max(initial, before.greatest) * multiplier)
  if (top <= initial) return constant(Math.min(initial, max))
  const growth = (1 + top) / (1 + initial)
  const edges = Array.from({ length: CELLS + 1 }, (_, i) => (1 + initial) * growth ** (i / CELLS) - 1)
  const shares = new Array<number>(CELLS + 1).fill(0)
  let mean = 0
  for (const [value, share] of before.points()) {
    const high = Math.max(initial, value) * multiplier
    mean += share * lawOfSpan({ low: initial, high, cap: max }).mean
    if (high <= initial) shares[0]! += share
    else {
      for (let i = 0; i < CELLS && edges[i]! < high; i++) {
        shares[i]! += (share * (Math.min(edges[i + 1]!, high) - edges[i]!)) / (high - initial)
      }
      shares[CELLS]! += share * Math.max(0, (high - top) / (high - initial))
    }
  }
  const points = shares.map((share, i): Point => [(edges[i]! + edges[Math.min(i + 1, CELLS)]!) / 2, share])
  return {
    least: Math.round(initial),
    greatest: Math.round(top),
    mean,
    variance: Math.max(0, sum(points, (value) => value * value) - sum(points, (value) => value) ** 2),
    meanUpTo: (most) => sum(points, (value) => (value <= most ? value : 0)),
    points: () => points,
  }
}

const sum = (points: readonly Point[], of: (value: number) => number): number =>
  points.reduce((total, [value, share]) => total + share * of(value), 0)

/**
 * The least total after which the next of so many delays may fall outside the window; Infinity where none ever does.
 *
 * To go over after k delays with as little as possible, the last one, p, should be long, for it bounds the next; and those
 * before no longer than it takes to get there: p, p/m, p/m² … and `initial` as soon as that is enough. More p makes
 * both sums grow, so the least p that goes over is found by halving. More delays than it takes only add to it.
 */
export const leastCutShort = (backoff: Decorrelated, retries: number, window: Millis): Millis => {
  const initial = Math.round(Math.min(backoff.initial, backoff.max))
  const nextOf = (delay: Millis) =>
    Math.max(initial, Math.round(Math.min(backoff.max, delay * backoff.multiplier)))
  const wayTo = (last: Millis, count: number): Millis => {
    let total = 0
    let left = count
    for (let delay = last; left > 0 && delay > initial; left--) {
      total += delay
      delay = Math.ceil((delay - 0.5) / backoff.multiplier)
    }
    return total + left * initial
  }
  const isOver = (last: Millis, count: number) => wayTo(last, count) + nextOf(last) > window

  let best = Number.POSITIVE_INFINITY
  let greatest = 0
  let longest = initial
  for (let made = 0; made < retries && made * initial < Math.min(best, window + 1); made++) {
    if (greatest + nextOf(longest) > window) {
      if (made === 0) return 0
      const last = leastWhere(initial, longest + 1, (delay) => delay > longest || isOver(delay, made))
      if (last <= longest) best = Math.min(best, wayTo(last, made))
      // one less, and those before make up for what is then missing
      if (last > initial)
        best = Math.min(best, Math.max(wayTo(last - 1, made), window + 1 - nextOf(last - 1)))
      if (last < longest || nextOf(longest) === longest) break
    }
    longest = nextOf(longest)
    greatest += longest
  }
  return best
}

const leastWhere = (from: number, to: number, holds: (value: number) => boolean): number => {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
