import { formulaOf, type Span, spanOf } from './backoff.ts'
import { decorrelatedAfter, leastCutShort } from './decorrelated.ts'
import { constant, type Law, lawOfSpan } from './law.ts'
import type { Backoff, PlainBackoff, Policy } from './policy.ts'
import type { Millis } from './time.ts'

/** How long the retries of a policy wait, all together. */
export interface Totals {
  readonly least: Millis
  readonly expected: Millis
  readonly greatest: Millis
}

/**
 * Of a message that fails until nothing is left of limit or window, where attempts take no time and nobody asks for
 * another delay (Retry-After, being throttled). The retry that would fall outside the window is not made: so the
 * total never exceeds the window, and an unlucky draw may end it early.
 *
 * Nothing is simulated. Without a window in the way all three are sums, closed once the delays no longer change. With
 * one, least and greatest stay exact (to the millisecond that rounding may cost; where decorrelated delays are one tier
 * of several, the least may be less than can be drawn). What is expected is then an estimate, for it takes the sum of
 * the delays before as normal and as independent of the next: within 4 % of the mean, and 20 % for decorrelated.
 */
export const totalsOf = ({ backoff, retries, window = Number.POSITIVE_INFINITY }: Policy): Totals => {
  let sum: Sum = { least: 0, greatest: 0, mean: 0, variance: 0 }
  let expected = 0
  // the least of the totals that end because the next retry would fall outside
  let early = Number.POSITIVE_INFINITY
  const result = (least: Millis): Totals => ({
    least,
    expected: Math.round(Math.min(Math.max(expected, least), sum.greatest, window)),
    greatest: Math.min(sum.greatest, window),
  })

  for (const { law, count } of runsOf(backoff, retries)) {
    const sure = Math.min(count, countWithin(law.greatest, window - sum.greatest))
    sum = plus(sum, law, sure)
    expected += law.mean * sure
    for (let i = sure; i < count; i++) {
      early = Math.min(early, leastBefore(law, sum, window))
      if (sum.least + law.least > window) return result(exactly(early, backoff, retries, window))
      expected += expectedWithin(window, sum, law)
      sum = plus(sum, law, 1)
    }
  }
  return result(Math.min(exactly(early, backoff, retries, window), sum.least))
}

/** The least sum so far after which the next delay, if it is the longest, falls outside the window. */
const leastBefore = (next: Law, sum: Sum, window: Millis): Millis => {
  const least = Math.max(sum.least, window + 1 - next.greatest)
  return least <= Math.min(sum.greatest, window) ? least : Number.POSITIVE_INFINITY
}

/** Where a long delay takes others to lead up to it, it costs more than the delay alone. */
const exactly = (early: Millis, backoff: Backoff, retries: number, window: Millis): Millis =>
  backoff.kind === 'decorrelated' && early < Number.POSITIVE_INFINITY
    ? leastCutShort(backoff, retries, window)
    : early

/** Of the delays so far. */
interface Sum {
  readonly least: Millis
  readonly greatest: Millis
  readonly mean: number
  readonly variance: number
}

const plus = (sum: Sum, law: Law, count: number): Sum => ({
  least: sum.least + law.least * count,
  greatest: sum.greatest + law.greatest * count,
  mean: sum.mean + law.mean * count,
  variance: sum.variance + law.variance * count,
})

/** How many delays fit even if all are the longest. */
const countWithin = (longest: Millis, room: Millis): number =>
  room < 0 ? 0 : longest === 0 ? Number.POSITIVE_INFINITY : Math.floor(room / longest)

/** Gauss and Hermite's five points of a normal distribution: exact for polynomials up to the ninth degree. */
const NORMAL = [
  [0, 8 / 15],
  [-1.355_626_18, 0.222_075_92],
  [1.355_626_18, 0.222_075_92],
  [-2.856_970_01, 0.011_257_41],
  [2.856_970_01, 0.011_257_41],
] as const

/** What a retry adds to the expected total, where it is only made if it falls within the window. */
const expectedWithin = (window: Millis, { mean, variance, least, greatest }: Sum, law: Law): number => {
  const deviation = Math.sqrt(variance)
  return NORMAL.reduce((total, [place, share]) => {
    const before = Math.min(Math.max(mean + place * deviation, least), greatest)
    return total + share * law.meanUpTo(window - before)
  }, 0)
}

/** So many retries in a row whose delays have the same law. */
interface Run {
  readonly law: Law
  readonly count: number
}

function* runsOf(backoff: Backoff, retries: number): Generator<Run> {
  let last: Law = constant(0)
  for (let retry = 1; retry <= retries; ) {
    const formula = formulaOf(backoff, retry)
    const end = Math.min(retries, endOf(backoff, retry))
    const law: Law =
      formula.kind === 'decorrelated' ? decorrelatedAfter(formula, last) : lawOfSpan(spanOf(formula, retry))
    const steady = formula.kind === 'decorrelated' ? isSame(law, last) : isLevel(formula, retry, end)
    const count = steady ? end - retry + 1 : 1
    yield { law, count }
    last = law
    retry += count
  }
}

/** The last retry for which the same formula holds. */
const endOf = (backoff: Backoff, retry: number): number =>
  (backoff.kind === 'tiers' && backoff.tiers.find(({ upTo }) => retry <= upTo)?.upTo) ||
  Number.POSITIVE_INFINITY

/** Delays never shrink from retry to retry: if the first and the last of a row are alike, all are. */
const isLevel = (formula: PlainBackoff, first: number, last: number): boolean =>
  isEqual(spanOf(formula, first), spanOf(formula, last))

const isEqual = (one: Span, other: Span): boolean =>
  one.low === other.low && one.high === other.high && one.cap === other.cap

/** Decorrelated delays settle down within a few rounds of growth. */
const isSame = (one: Law, other: Law): boolean =>
  one.greatest === other.greatest && Math.abs(one.mean - other.mean) <= 1e-6 * one.mean
