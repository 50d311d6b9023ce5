import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { delayOf } from './backoff.ts'
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

describe('the built-in policies', () => {
  it('have the published figures', () => {
    const figures = Object.values(POLICIES).map((policy) => {
      const { backoff } = policy
      return [
        policy.name,
        ...('initial' in backoff ? [backoff.initial, backoff.max, backoff.jitter.kind] : []),
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
