import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffs, rolls } from '../../test/policies.ts'
import { delayOf, longerDelayOf } from './backoff.ts'
import { type Backoff, type Jitter, POLICIES } from './policy.ts'

const exponential = (overrides: Partial<Extract<Backoff, { kind: 'exponential' }>> = {}): Backoff => ({
  kind: 'exponential',
  initial: 1000,
  multiplier: 2,
  max: 300_000,
  firstExponent: 0,
  jitter: { kind: 'none' },
  ...overrides,
})

const delays = (backoff: Backoff, count: number, roll = () => 0) =>
  Array.from({ length: count }, (_, i) => delayOf(backoff, i + 1, roll))

describe('exponential backoff', () => {
  it('waits the initial delay first and doubles up to the cap', () => {
    expect(delays(exponential(), 10)).toEqual([
      1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000,
    ])
  })

  it('begins with initial × multiplier where the rules say so', () => {
    expect(delays(exponential({ initial: 100, firstExponent: 1 }), 3)).toEqual([200, 400, 800])
  })

  it('half jitter stays between half and whole of the delay, capped after it', () => {
    const { backoff } = POLICIES.standard
    expect(delays(backoff, 6, () => 0)).toEqual([500, 1000, 2000, 4000, 8000, 16_000])
    expect(delays(backoff, 6, () => 0.999_999)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000])
    // retry 6 means 32 s before jitter: with a roll of one half 24 s, and not half of the 30 s cap
    expect(delayOf(backoff, 6, () => 0.5)).toBe(24_000)
  })

  it('spread jitter is applied after the cap, so that those at the cap do not wait alike', () => {
    const backoff = exponential({ jitter: { kind: 'spread', ratio: 0.2 } })
    expect(delayOf(backoff, 20, () => 0)).toBe(240_000)
    expect(delayOf(backoff, 20, () => 0.5)).toBe(300_000)
    expect(delayOf(backoff, 20, () => 0.999_999)).toBeCloseTo(360_000, -1)
  })

  it('full and wide jitter are applied after the cap too', () => {
    const at = (kind: 'full' | 'wide', roll: number) =>
      delayOf(exponential({ max: 30_000, jitter: { kind } }), 20, () => roll)
    expect([at('full', 0), at('full', 0.5), at('full', 0.999_999)]).toEqual([0, 15_000, 30_000])
    expect([at('wide', 0), at('wide', 0.5), at('wide', 0.999_999)]).toEqual([15_000, 30_000, 45_000])
  })
})

describe('decorrelated backoff', () => {
  const backoff: Backoff = { kind: 'decorrelated', initial: 100, multiplier: 3, max: 2000 }

  it('draws between initial and three times the delay before, and caps', () => {
    expect([0, 0.5, 0.999_999].map((roll) => delayOf(backoff, 2, () => roll, 500))).toEqual([100, 800, 1500])
    expect(delayOf(backoff, 2, () => 0.999_999, 900)).toBe(2000)
    // 0.5 means 1550 out of [100, 3000]: the cap comes after the draw
    expect(delayOf(backoff, 2, () => 0.5, 1000)).toBe(1550)
  })

  it('starts from initial where there is no delay before, or a shorter one, or nonsense', () => {
    for (const previous of [undefined, 0, 99, Number.NaN, 'x' as unknown as number]) {
      expect(
        delayOf(backoff, 1, () => 0.999_999, previous),
        `${previous}`,
      ).toBe(300)
    }
  })

  it('goes by the delay before, not by the number of the retry', () => {
    expect(delayOf(backoff, 1, () => 0.5, 400)).toBe(delayOf(backoff, 999, () => 0.5, 400))
  })
})

describe('one step longer', () => {
  it('is the delay of the next retry', () => {
    expect(longerDelayOf(exponential(), 3, () => 0)).toBe(8000)
    expect(
      longerDelayOf({ kind: 'linear', initial: 10, step: 5, max: 99, jitter: { kind: 'none' } }, 1, () => 0),
    ).toBe(15)
  })

  it('draws twice where each delay grows out of the one before', () => {
    const backoff: Backoff = { kind: 'decorrelated', initial: 100, multiplier: 3, max: 10_000 }
    const dice = [0.5, 0.5]
    // 200 out of [100, 300], then 350 out of [100, 600]
    expect(longerDelayOf(backoff, 1, () => dice.shift()!)).toBe(350)
    expect(dice).toEqual([])
  })

  it('goes by the tier of the next retry', () => {
    const fixed = (delay: number) => ({ kind: 'fixed', delay, jitter: { kind: 'none' } }) as const
    const tiers = [
      { upTo: 1, backoff: fixed(10) },
      { upTo: 2, backoff: fixed(70) },
    ]
    expect(longerDelayOf({ kind: 'tiers', tiers }, 1, () => 0)).toBe(70)
  })
})

describe('the other kinds', () => {
  it('linear grows by its step to the cap', () => {
    const backoff: Backoff = {
      kind: 'linear',
      initial: 5000,
      step: 5000,
      max: 12_000,
      jitter: { kind: 'none' },
    }
    expect(delays(backoff, 4)).toEqual([5000, 10_000, 12_000, 12_000])
  })

  it('linear is never below its floor, and the cap wins over the floor', () => {
    const backoff = {
      kind: 'linear',
      initial: 300,
      step: 300,
      min: 1000,
      max: 1300,
      jitter: { kind: 'none' },
    } as const
    expect(delays(backoff, 6)).toEqual([1000, 1000, 1000, 1200, 1300, 1300])
    expect(delays({ ...backoff, max: 500 }, 2)).toEqual([500, 500])
  })

  it('fixed stays, none does not wait', () => {
    expect(delays({ kind: 'fixed', delay: 700, jitter: { kind: 'none' } }, 3)).toEqual([700, 700, 700])
    expect(delays({ kind: 'none' }, 3)).toEqual([0, 0, 0])
  })

  it('tiers hold up to and including their retry, the last one for ever', () => {
    const fixed = (delay: number) => ({ kind: 'fixed', delay, jitter: { kind: 'none' } }) as const
    const backoff: Backoff = {
      kind: 'tiers',
      tiers: [
        { upTo: 2, backoff: fixed(10) },
        { upTo: 4, backoff: fixed(1000) },
      ],
    }
    expect(delays(backoff, 6)).toEqual([10, 10, 1000, 1000, 1000, 1000])
  })
})

describe('jitter', () => {
  const bounds: [Jitter, number, number][] = [
    [{ kind: 'none' }, 1, 1],
    [{ kind: 'full' }, 0, 1],
    [{ kind: 'half' }, 0.5, 1],
    [{ kind: 'wide' }, 0.5, 1.5],
    [{ kind: 'spread', ratio: 0.1 }, 0.9, 1.1],
  ]
  it.each(bounds)('%o stays within its bounds for every roll', (jitter, least, most) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (retry, roll) => {
          const plain = 1000 * 2 ** (retry - 1)
          const delay = delayOf(exponential({ jitter }), retry, () => roll)
          expect(delay).toBeGreaterThanOrEqual(Math.floor(plain * least))
          expect(delay).toBeLessThanOrEqual(Math.ceil(plain * most))
        },
      ),
    )
  })

  it('looking changes nothing: the same retry and roll give the same delay', () => {
    const backoff = POLICIES.critical.backoff
    expect(delayOf(backoff, 3, () => 0.3)).toBe(delayOf(backoff, 3, () => 0.3))
  })
})

describe('for every legal backoff', () => {
  const retries = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 1_000_000 }))

  it('a delay is a whole number of milliseconds, never negative, and never beyond twice its cap', () => {
    fc.assert(
      fc.property(
        backoffs(),
        retries,
        rolls(),
        fc.option(fc.nat(), { nil: undefined }),
        (backoff, retry, roll, previous) => {
          const delay = delayOf(backoff, retry, () => roll, previous)
          expect(Number.isSafeInteger(delay)).toBe(true)
          expect(Object.is(delay, -0)).toBe(false)
          expect(delay).toBeGreaterThanOrEqual(0)
          expect(delay).toBeLessThanOrEqual(2 * capOf(backoff))
        },
      ),
    )
  })

  it('nothing, however often multiplied, stays nothing', () => {
    expect(delayOf(exponential({ initial: 0, multiplier: 100 }), 1_000_000, () => 0)).toBe(0)
  })

  it('a tierless progression waits for nothing', () => {
    expect(delayOf({ kind: 'tiers', tiers: [] }, 1, () => 0)).toBe(0)
  })

  it('the dice are left alone where there is nothing to choose', () => {
    const never = () => {
      throw new Error('thrown')
    }
    expect(delayOf(exponential(), 3, never)).toBe(4000)
    expect(longerDelayOf(exponential(), 3, never)).toBe(8000)
  })

  it('caps however absurd stay numbers', () => {
    const absurd = { initial: 1e300, max: Number.POSITIVE_INFINITY }
    for (const kind of ['none', 'full', 'half', 'wide'] as const) {
      expect(
        Number.isSafeInteger(delayOf(exponential({ ...absurd, jitter: { kind } }), 1e6, () => 0.3)),
      ).toBe(true)
    }
    const decorrelated = { kind: 'decorrelated', multiplier: 3, ...absurd } as const
    expect(Number.isSafeInteger(delayOf(decorrelated, 1e6, () => 0.3, Number.POSITIVE_INFINITY))).toBe(true)
  })

  it('without jitter it never shrinks from retry to retry', () => {
    fc.assert(
      fc.property(backoffs(), retries, (backoff, retry) => {
        fc.pre(backoff.kind !== 'tiers' && backoff.kind !== 'decorrelated')
        expect(delayOf(backoff, retry + 1, () => 0)).toBeGreaterThanOrEqual(delayOf(backoff, retry, () => 0))
      }),
    )
  })
})

const capOf = (backoff: Backoff): number => {
  switch (backoff.kind) {
    case 'none':
      return 0
    case 'fixed':
      return backoff.delay
    case 'tiers':
      return Math.max(...backoff.tiers.map((tier) => capOf(tier.backoff)))
    default:
      return backoff.max
  }
}

describe('the built-in policies', () => {
  it('have the published figures', () => {
    const figures = Object.values(POLICIES).map((policy) => {
      const { backoff } = policy
      return [
        policy.name,
        ...(backoff.kind === 'exponential' ? [backoff.initial, backoff.max, backoff.jitter.kind] : []),
        policy.retries,
        'window' in policy ? policy.window : undefined,
      ]
    })
    expect(figures).toEqual([
      ['aggressive', 500, 5000, 'half', 3, 15_000],
      ['standard', 1000, 30_000, 'half', 5, 300_000],
      ['patient', 2000, 60_000, 'half', 8, 900_000],
      ['critical', 1000, 120_000, 'half', 12, 1_800_000],
      ['none', 0, undefined],
    ])
  })
})
