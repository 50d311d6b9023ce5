import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { trendOf } from './snapshot.ts'

describe('trendOf', () => {
  it('says nothing of fewer than two', () => {
    expect(trendOf([])).toBeUndefined()
    expect(trendOf([7])).toBeUndefined()
  })

  it.for([
    [[100, 120], 'stable'],
    [[100, 121], 'increasing'],
    [[100, 80], 'stable'],
    [[100, 79], 'decreasing'],
    [[100, 5, 900, 100], 'stable'],
    [[0, 0], 'stable'],
    [[0, 1], 'increasing'],
    [[5, 0], 'decreasing'],
  ] as const)('%j is %s', ([figures, direction]) => {
    expect(trendOf(figures)?.direction).toBe(direction)
  })

  it('looks at the newest ten only', () => {
    const figures = [1000, 10, 10, 10, 10, 10, 10, 10, 10, 10, 13]
    expect(trendOf(figures)).toEqual({
      ...{ direction: 'increasing', first: 10, recent: 13, average: 10.3, change: 0.3 },
    })
  })

  it('the average lies between the least and the most, and a whole list says the same as its end', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { minLength: 2, maxLength: 30 }), (figures) => {
        const trend = trendOf(figures)!
        const seen = figures.slice(-10)
        expect(trend).toEqual(trendOf(seen))
        expect(trend.average).toBeGreaterThanOrEqual(Math.min(...seen) - 1e-6)
        expect(trend.average).toBeLessThanOrEqual(Math.max(...seen) + 1e-6)
        expect(trend.recent).toBe(figures.at(-1))
      }),
    )
  })
})
