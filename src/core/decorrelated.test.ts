import fc from 'fast-check'
import { expect, it } from 'vitest'
import { leastCutShort } from './decorrelated.ts'

/** Every delay tried after every other: only for tiny figures. */
const byTrying = (
  { initial, multiplier, max }: { initial: number; multiplier: number; max: number },
  retries: number,
  window: number,
): number => {
  const shortest = Math.round(Math.min(initial, max))
  let best = Number.POSITIVE_INFINITY
  const visit = (made: number, total: number, before: number): void => {
    if (made === retries || total >= best) return
    const longest = Math.max(shortest, Math.round(Math.min(max, before * multiplier)))
    if (total + longest > window) best = total
    for (let delay = shortest; delay <= longest && total + delay <= window; delay++) {
      visit(made + 1, total + delay, delay)
    }
  }
  visit(0, 0, shortest)
  return best
}

it('the least total after which a decorrelated delay may fall outside the window is what trying all finds', () => {
  const tiny = fc.record({
    initial: fc.integer({ min: 1, max: 6 }),
    multiplier: fc.constantFrom(1, 1.25, 1.5, 2, 3),
    max: fc.integer({ min: 1, max: 40 }),
  })
  fc.assert(
    fc.property(tiny, fc.nat(5), fc.nat(60), (figures, retries, window) => {
      expect(leastCutShort({ kind: 'decorrelated', ...figures }, retries, window)).toBe(
        byTrying(figures, retries, window),
      )
    }),
    { numRuns: 1000 },
  )
})

it.each([
  // [initial, multiplier, max, retries, window]: 10, then up to 30, then up to 90
  [10, 3, 1000, 1, 29, 0],
  [10, 3, 1000, 1, 30, Number.POSITIVE_INFINITY],
  // 11 may be followed by 33, 44 in all; 10 only by 30
  [10, 3, 1000, 2, 40, 11],
  [10, 3, 1000, 2, 39, 10],
  [10, 3, 1000, 0, 5, Number.POSITIVE_INFINITY],
])(
  'out of %i × %d up to %i, %i retries within %i ms: %d',
  (initial, multiplier, max, retries, window, least) => {
    expect(leastCutShort({ kind: 'decorrelated', initial, multiplier, max }, retries, window)).toBe(least)
  },
)
