import { describe, expect, it } from 'vitest'
import { delayOf } from './backoff.ts'
import { type Backoff, type PlainBackoff, POLICIES } from './policy.ts'

/** The delays that the requirements publish, as they are published. docs/readings.md says which reading holds where two do. */

const ALMOST_ONE = 1 - 2 ** -53

const at = (backoff: Backoff, count: number, roll: number) =>
  Array.from({ length: count }, (_, i) => delayOf(backoff, i + 1, () => roll))

/** The shortest and the longest delay before each of so many retries. */
const ranges = (backoff: Backoff, count: number) => {
  const longest = at(backoff, count, ALMOST_ONE)
  return at(backoff, count, 0).map((shortest, i) => [shortest, longest[i]])
}

const exponential = (
  initial: number,
  max: number,
  jitter: Extract<PlainBackoff, { kind: 'exponential' }>['jitter'],
  firstExponent: 0 | 1 = 0,
  multiplier = 2,
): Backoff => ({ kind: 'exponential', initial, multiplier, max, firstExponent, jitter })

const none = { kind: 'none' } as const
const spread = (ratio: number) => ({ kind: 'spread', ratio }) as const

describe('A3, A4: half of the delay and up to half more, then capped; exponent 0 first', () => {
  it('aggressive', () => {
    expect(ranges(POLICIES.aggressive.backoff, 5)).toEqual([
      [250, 500],
      [500, 1000],
      [1000, 2000],
      // it grants three retries; the cap of 5 s would show from the fifth
      [2000, 4000],
      [4000, 5000],
    ])
  })

  it('standard', () => {
    expect(ranges(POLICIES.standard.backoff, 5)).toEqual([
      [500, 1000],
      [1000, 2000],
      [2000, 4000],
      [4000, 8000],
      [8000, 16_000],
    ])
  })

  it('patient', () => {
    expect(ranges(POLICIES.patient.backoff, 8)).toEqual([
      [1000, 2000],
      [2000, 4000],
      [4000, 8000],
      [8000, 16_000],
      [16_000, 32_000],
      [32_000, 60_000],
      [60_000, 60_000],
      [60_000, 60_000],
    ])
  })

  it('critical', () => {
    expect(ranges(POLICIES.critical.backoff, 12)).toEqual([
      [500, 1000],
      [1000, 2000],
      [2000, 4000],
      [4000, 8000],
      [8000, 16_000],
      [16_000, 32_000],
      [32_000, 64_000],
      [64_000, 120_000],
      [120_000, 120_000],
      [120_000, 120_000],
      [120_000, 120_000],
      [120_000, 120_000],
    ])
  })

  it('by the formula itself, for any roll', () => {
    for (const roll of [0, 0.1, 0.25, 0.5, 0.75, 0.9]) {
      const formula = Array.from({ length: 12 }, (_, attempt) =>
        Math.round(Math.min(1000 * 2 ** attempt * (0.5 + roll * 0.5), 120_000)),
      )
      expect(at(POLICIES.critical.backoff, 12, roll)).toEqual(formula)
    }
  })
})

describe('B1: the queue runtime', () => {
  it('200, 400, 800 ms from 100 ms without jitter, to a ceiling of 5 min', () => {
    expect(at(exponential(100, 300_000, none, 1), 3, 0.5)).toEqual([200, 400, 800])
    expect(at(exponential(100, 300_000, none, 1), 12, 0.5).slice(-3)).toEqual([102_400, 204_800, 300_000])
  })

  it('with jitter 20 % more or less', () => {
    expect(ranges(exponential(100, 300_000, spread(0.2), 1), 4)).toEqual([
      [160, 240],
      [320, 480],
      [640, 960],
      [1280, 1920],
    ])
  })

  it('a multiplier of 1.5', () => {
    expect(at(exponential(100, 120_000, none, 1, 1.5), 3, 0.5)).toEqual([150, 225, 338])
  })

  it('linear: the initial delay before the first retry, and an increment with each', () => {
    const linear = { kind: 'linear', initial: 1000, step: 1000, max: 600_000, jitter: none } as const
    expect(at(linear, 3, 0.5)).toEqual([1000, 2000, 3000])
    expect(at({ ...linear, step: 500, max: 2200 }, 5, 0.5)).toEqual([1000, 1500, 2000, 2200, 2200])
  })

  it('fixed', () => {
    expect(at({ kind: 'fixed', delay: 700, jitter: none }, 4, 0.5)).toEqual([700, 700, 700, 700])
  })
})

describe('C2: the event pipeline', () => {
  it('exponential: attempts 1 to 6 as in the table, then as its algorithm says', () => {
    const backoff = exponential(1000, 300_000, spread(0.2))
    expect(at(backoff, 10, 0.5)).toEqual([
      1000, 2000, 4000, 8000, 16_000, 32_000,
      // the table has the cap from attempt 7 on; 1 s × 2⁶ is 64 s, and the cap is reached with attempt 10
      64_000, 128_000, 256_000, 300_000,
    ])
    expect(ranges(backoff, 10)).toEqual([
      [800, 1200],
      [1600, 2400],
      [3200, 4800],
      [6400, 9600],
      [12_800, 19_200],
      [25_600, 38_400],
      [51_200, 76_800],
      [102_400, 153_600],
      [204_800, 307_200],
      [240_000, 360_000],
    ])
  })

  const linear = (step: number): Backoff => ({
    kind: 'linear',
    initial: step,
    step,
    min: 1000,
    max: 300_000,
    jitter: spread(0.2),
  })

  it('linear: attempts 1 to 4 as in the table, then as its algorithm says', () => {
    expect(ranges(linear(5000), 5)).toEqual([
      [4000, 6000],
      [8000, 12_000],
      [12_000, 18_000],
      [16_000, 24_000],
      // the table has the cap from attempt 5 on; 5 × 5 s is 25 s
      [20_000, 30_000],
    ])
    expect(at(linear(5000), 61, 0.5).slice(-3)).toEqual([295_000, 300_000, 300_000])
    expect(ranges(linear(5000), 60).at(-1)).toEqual([240_000, 360_000])
  })

  it('linear by 10 s: 10, 20, 30 and 40 s after the first attempt', () => {
    expect(at(linear(10_000), 4, 0.5)).toEqual([10_000, 20_000, 30_000, 40_000])
  })

  it('linear below the floor waits a second', () => {
    expect(at(linear(400), 4, 0.5)).toEqual([1000, 1000, 1200, 1600])
  })

  it('none: at once', () => {
    expect(at({ kind: 'none' }, 3, 0.5)).toEqual([0, 0, 0])
  })
})

describe('D4: 100 ms doubled to 30 s', () => {
  it('without jitter', () => {
    expect(at(exponential(100, 30_000, none), 10, 0.5)).toEqual([
      100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000,
    ])
  })

  it('full: anything from nothing to the delay, which is capped before', () => {
    const full = ranges(exponential(100, 30_000, { kind: 'full' }), 12)
    expect(full.slice(0, 4)).toEqual([
      [0, 100],
      [0, 200],
      [0, 400],
      [0, 800],
    ])
    expect(full.at(-1)).toEqual([0, 30_000])
    expect(at(exponential(100, 30_000, { kind: 'full' }), 12, 0.5).at(-1)).toBe(15_000)
  })

  it('random: anything from half of it to one and a half, of the cap too', () => {
    const wide = ranges(exponential(100, 30_000, { kind: 'wide' }), 12)
    expect(wide.slice(0, 4)).toEqual([
      [50, 150],
      [100, 300],
      [200, 600],
      [400, 1200],
    ])
    expect(wide.at(-1)).toEqual([15_000, 45_000])
  })
})

describe('D5: tiers that escalate, each with its own formula', () => {
  it('at once, then linear, then exponential, then once an hour', () => {
    const backoff: Backoff = {
      kind: 'tiers',
      tiers: [
        { upTo: 1, backoff: { kind: 'none' } },
        { upTo: 3, backoff: { kind: 'linear', initial: 0, step: 5000, max: 60_000, jitter: none } },
        { upTo: 6, backoff: exponential(1000, 300_000, { kind: 'half' }) as PlainBackoff },
        { upTo: 7, backoff: { kind: 'fixed', delay: 3_600_000, jitter: spread(0.1) } },
      ],
    }
    // the number of the retry counts on through the tiers
    expect(ranges(backoff, 8)).toEqual([
      [0, 0],
      [5000, 5000],
      [10_000, 10_000],
      [4000, 8000],
      [8000, 16_000],
      [16_000, 32_000],
      [3_240_000, 3_960_000],
      [3_240_000, 3_960_000],
    ])
  })

  it('a decorrelated tier grows out of the last delay of the tier before', () => {
    const backoff: Backoff = {
      kind: 'tiers',
      tiers: [
        { upTo: 1, backoff: { kind: 'fixed', delay: 2000, jitter: none } },
        { upTo: 9, backoff: { kind: 'decorrelated', initial: 1000, multiplier: 3, max: 60_000 } },
      ],
    }
    expect(delayOf(backoff, 2, () => ALMOST_ONE, 2000)).toBe(6000)
  })
})

describe('E2: 1 s doubled to 60 s, 10 % more or less, the first retry multiplied', () => {
  it('waits 2, 4, 8, 16 and 32 s', () => {
    const backoff = exponential(1000, 60_000, spread(0.1), 1)
    expect(at(backoff, 6, 0.5)).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000])
    expect(ranges(backoff, 6)).toEqual([
      [1800, 2200],
      [3600, 4400],
      [7200, 8800],
      [14_400, 17_600],
      [28_800, 35_200],
      [54_000, 66_000],
    ])
  })
})
