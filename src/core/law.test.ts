import { describe, expect, it } from 'vitest'
import { decorrelatedAfter } from './decorrelated.ts'
import { constant, type Law, lawOfSpan } from './law.ts'

const sumOf = (law: Law, of: (value: number) => number) =>
  law.points().reduce((sum, [value, share]) => sum + share * of(value), 0)

describe('the law of a delay', () => {
  it.each([
    // [low, high, cap] and least, greatest, mean, variance: the capped half of the second lies on 50
    [[0, 100, 1000], 0, 100, 50, 10_000 / 12],
    [[0, 100, 50], 0, 50, 37.5, 5000 / 3 - 37.5 ** 2],
    [[20, 60, 40], 20, 40, 35, 3800 / 3 - 35 ** 2],
  ] as const)('even over %j', ([low, high, cap], least, greatest, mean, variance) => {
    const law = lawOfSpan({ low, high, cap })
    expect([law.least, law.greatest, law.mean]).toEqual([least, greatest, mean])
    expect(law.variance).toBeCloseTo(variance, 6)
    // the points say the same, as nearly as 64 can
    expect(law.points()).toHaveLength(64)
    expect(sumOf(law, () => 1)).toBeCloseTo(1, 9)
    expect(sumOf(law, (value) => value)).toBeCloseTo(mean, 1)
    expect(law.points()[0]![0]).toBeCloseTo(low + (high - low) / 128, 9)
    expect(law.points().at(-1)![0]).toBeCloseTo(Math.min(high - (high - low) / 128, cap), 9)
  })

  it('the mean of what stays below', () => {
    const law = lawOfSpan({ low: 20, high: 60, cap: 40 })
    // (x² − 20²) / 80, and everything from the cap on
    expect([0, 20, 30, 39, 40, 1000].map((most) => law.meanUpTo(most))).toEqual([0, 0, 6.25, 14.0125, 35, 35])
  })

  it.each([
    [{ low: 10, high: 20, cap: 5 }, 5],
    [{ low: 5, high: 10, cap: 5 }, 5],
    [{ low: 7.4, high: 7.4, cap: 100 }, 7.4],
  ])('%j is a single value', (span, value) => {
    const law = lawOfSpan(span)
    expect(law.points()).toEqual([[value, 1]])
    const whole = Math.round(value)
    expect(law).toMatchObject({ least: whole, greatest: whole, mean: value, variance: 0 })
    expect([law.meanUpTo(value - 0.1), law.meanUpTo(value)]).toEqual([0, value])
  })
})

describe('the law of a decorrelated delay', () => {
  it.each([
    // out of 100 ms: even between 100 and 300, then capped
    [10_000, 300, 200, 200 ** 2 / 12],
    [200, 200, 175, 95_000 / 3 - 175 ** 2],
  ])('capped at %i', (max, greatest, mean, variance) => {
    const law = decorrelatedAfter({ kind: 'decorrelated', initial: 100, multiplier: 3, max }, constant(100))
    expect([law.least, law.greatest]).toEqual([100, greatest])
    expect(law.mean).toBeCloseTo(mean, 6)
    expect(sumOf(law, () => 1)).toBeCloseTo(1, 9)
    expect(Math.abs(law.variance / variance - 1)).toBeLessThan(0.02)
    // (150² − 100²) / 400
    expect(Math.abs(law.meanUpTo(150) / 31.25 - 1)).toBeLessThan(0.03)
    expect(law.meanUpTo(greatest)).toBeCloseTo(mean, 0)
  })

  it('that can not grow is what it begins with', () => {
    const law = decorrelatedAfter(
      { kind: 'decorrelated', initial: 100, multiplier: 3, max: 100 },
      constant(0),
    )
    expect(law.points()).toEqual([[100, 1]])
  })

  it('out of delays below it too', () => {
    // x even over 50 to 300: up to 100 it is 100, beyond it (100 + x) / 2 on the mean
    const before = lawOfSpan({ low: 50, high: 300, cap: 1000 })
    const law = decorrelatedAfter({ kind: 'decorrelated', initial: 100, multiplier: 1, max: 1000 }, before)
    expect(Math.abs(law.mean / 140 - 1)).toBeLessThan(0.01)
    expect(sumOf(law, () => 1)).toBeCloseTo(1, 9)
  })
})
