import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policies, rolls } from '../../test/policies.ts'
import { spentOn } from '../../test/spent.ts'
import { loadedDice } from '../testing/dice.ts'
import { delayOf, type Roll } from './backoff.ts'
import { type Backoff, type Jitter, POLICIES, type Policy } from './policy.ts'
import { totalsOf } from './totals.ts'

/** All the delays of one life, as `decide` grants them when attempts take no time. */
const draw = ({ backoff, retries, window = Number.POSITIVE_INFINITY }: Policy, roll: Roll): number => {
  let total = 0
  let previous: number | undefined
  for (let retry = 1; retry <= retries; retry++) {
    const delay = delayOf(backoff, retry, roll, previous)
    if (total + delay > window) return total
    total += delay
    previous = delay
  }
  return total
}

/** The least and the greatest of all totals there are: every delay tried after every other. Only for tiny figures. */
const extremes = ({ backoff, retries, window = Number.POSITIVE_INFINITY }: Policy): [number, number] => {
  const dice = Array.from({ length: 100 }, (_, i) => (i === 99 ? 1 - 2 ** -53 : i / 99))
  let [least, greatest] = [Number.POSITIVE_INFINITY, 0]
  const delays = new Map<string, readonly number[]>()
  const delaysAfter = (made: number, previous?: number): readonly number[] => {
    const known = delays.get(`${made} ${previous}`)
    if (known) return known
    const all = [...new Set(dice.map((roll) => delayOf(backoff, made + 1, () => roll, previous)))]
    delays.set(`${made} ${previous}`, all)
    return all
  }
  const seen = new Set<string>()
  const visit = (made: number, total: number, previous?: number): void => {
    const here = `${made} ${total} ${previous}`
    if (seen.has(here)) return
    seen.add(here)
    const next = made < retries ? delaysAfter(made, previous) : []
    if (made === retries || next.some((delay) => total + delay > window)) {
      least = Math.min(least, total)
      greatest = Math.max(greatest, total)
    }
    for (const delay of next) if (total + delay <= window) visit(made + 1, total + delay, delay)
  }
  visit(0, 0)
  return [least, greatest]
}

const exponential = (jitter: Jitter, figures: Partial<Policy> & { max?: number } = {}): Policy => ({
  name: 'p',
  backoff: {
    kind: 'exponential',
    initial: 1000,
    multiplier: 2,
    max: figures.max ?? 30_000,
    firstExponent: 0,
    jitter,
  },
  retries: figures.retries ?? 20,
  ...(figures.window !== undefined && { window: figures.window }),
})

const decorrelated = (
  initial: number,
  multiplier: number,
  max: number,
  more: Partial<Policy> = {},
): Policy => ({
  name: 'p',
  backoff: { kind: 'decorrelated', initial, multiplier, max },
  retries: 10,
  ...more,
})

describe('the built-in policies wait in all', () => {
  it.each([
    // 0.25 + 0.5 + 1 · 0.375 + 0.75 + 1.5 · 0.5 + 1 + 2 s, far from the window of 15 s
    ['aggressive', 1750, 2625, 3500],
    ['standard', 15_500, 23_250, 31_000],
    // 64 s of [32, 64] capped at 60 is 47.75 s on the mean, and the last two are 60 s
    ['patient', 183_000, 214_250, 242_000],
    // 128 s of [64, 128] capped at 120 is 95.5 s on the mean, and the last four are 120 s
    ['critical', 607_500, 670_750, 727_000],
    ['none', 0, 0, 0],
  ] as const)('%s: %d, %d, %d ms', (name, least, expected, greatest) => {
    expect(totalsOf(POLICIES[name])).toEqual({ least, expected, greatest })
  })
})

describe('other published policies wait in all', () => {
  const of = (backoff: Backoff, retries: number) => totalsOf({ name: 'p', backoff, retries })
  const doubled = (initial: number, max: number, jitter: Jitter, firstExponent: 0 | 1 = 0): Backoff => ({
    kind: 'exponential',
    initial,
    multiplier: 2,
    max,
    firstExponent,
    jitter,
  })

  it('C1: three attempts 3 s and five 15 s, 20 % more or less', () => {
    const backoff = doubled(1000, 300_000, { kind: 'spread', ratio: 0.2 })
    expect(of(backoff, 2)).toEqual({ least: 2400, expected: 3000, greatest: 3600 })
    expect(of(backoff, 4)).toEqual({ least: 12_000, expected: 15_000, greatest: 18_000 })
  })

  it('D4: five attempts with full jitter', () => {
    expect(of(doubled(100, 30_000, { kind: 'full' }), 4)).toEqual({ least: 0, expected: 750, greatest: 1500 })
  })

  it('E2: five retries, 62 s, 10 % more or less', () => {
    const backoff = doubled(1000, 60_000, { kind: 'spread', ratio: 0.1 }, 1)
    expect(of(backoff, 5)).toEqual({ least: 55_800, expected: 62_000, greatest: 68_200 })
  })
})

describe('the window', () => {
  it('bounds the total: the retry that would fall outside is not made', () => {
    // 1 + 2 + 4 + 8 + 16 = 31, and 30 more would be 61
    expect(totalsOf(exponential({ kind: 'none' }, { window: 60_000 }))).toEqual({
      least: 31_000,
      expected: 31_000,
      greatest: 31_000,
    })
    expect(totalsOf(exponential({ kind: 'none' }, { window: 61_000 })).greatest).toBe(61_000)
  })

  it('may be cut short by an unlucky draw: then the least is less than the sum of the least', () => {
    // one retry of [500, 1000] fits always, the next of [1000, 2000] never when it is long
    expect(totalsOf(exponential({ kind: 'half' }, { retries: 2, window: 2100 }))).toMatchObject({
      least: 500,
      greatest: 2100,
    })
    expect(totalsOf(exponential({ kind: 'half' }, { retries: 1, window: 900 })).least).toBe(0)
  })

  it('of nothing leaves nothing', () => {
    expect(totalsOf({ ...POLICIES.standard, window: 0 })).toEqual({ least: 0, expected: 0, greatest: 0 })
  })
})

describe('against all that can be drawn', () => {
  it('no total is below the least or above the greatest', () => {
    fc.assert(
      fc.property(policies(10_000), fc.array(rolls(), { minLength: 20, maxLength: 20 }), (policy, list) => {
        const { least, expected, greatest } = totalsOf(policy)
        let i = 0
        const total = draw(policy, () => list[i++ % list.length]!)
        expect(total).toBeGreaterThanOrEqual(least)
        expect(total).toBeLessThanOrEqual(greatest)
        expect(greatest).toBeLessThanOrEqual(policy.window ?? Number.POSITIVE_INFINITY)
        expect(expected).toBeGreaterThanOrEqual(least)
        expect(expected).toBeLessThanOrEqual(greatest)
        for (const each of [least, expected, greatest]) expect(Number.isSafeInteger(each)).toBe(true)
      }),
    )
  })

  it('least and greatest can be drawn, window or not', () => {
    fc.assert(
      fc.property(policies(12, 4), (policy) => {
        const { least, greatest } = totalsOf(policy)
        const [lowest, highest] = extremes(policy)
        // half a millisecond is rounded the other way at an end that is never quite reached
        expect(lowest - least).toBeGreaterThanOrEqual(0)
        expect(greatest - highest).toBeGreaterThanOrEqual(0)
        if (policy.backoff.kind !== 'tiers') {
          expect(lowest - least, 'least').toBeLessThanOrEqual(policy.retries)
          expect(greatest - highest, 'greatest').toBeLessThanOrEqual(policy.retries)
        }
      }),
    )
  })

  it('exactly so for decorrelated backoff, where a long delay needs others that lead up to it', () => {
    const figures = fc.record({
      initial: fc.integer({ min: 1, max: 4 }),
      multiplier: fc.constantFrom(2, 3),
      max: fc.integer({ min: 1, max: 30 }),
      retries: fc.integer({ min: 1, max: 6 }),
      window: fc.integer({ min: 0, max: 50 }),
    })
    fc.assert(
      fc.property(figures, ({ initial, multiplier, max, ...more }) => {
        const policy = decorrelated(initial, multiplier, max, more)
        const { least, greatest } = totalsOf(policy)
        expect([least, greatest]).toEqual(extremes(policy))
      }),
    )
  })
})

describe('the expected total is the mean of many', () => {
  const LIVES = 4000
  const meanOf = (policy: Policy) => {
    const { next } = loadedDice(7)
    let sum = 0
    for (let i = 0; i < LIVES; i++) sum += draw(policy, next)
    return sum / LIVES
  }
  const apart = (policy: Policy) => Math.abs(totalsOf(policy).expected / meanOf(policy) - 1)

  const JITTERS: Jitter[] = [
    { kind: 'full' },
    { kind: 'half' },
    { kind: 'wide' },
    { kind: 'spread', ratio: 0.2 },
    { kind: 'spread', ratio: 1 },
  ]

  it.each(JITTERS)('for jitter %o, without a window', (jitter) => {
    expect(apart(exponential(jitter))).toBeLessThan(0.01)
    const linear = { kind: 'linear', initial: 500, step: 700, min: 900, max: 5000, jitter } as const
    expect(apart({ name: 'p', backoff: linear, retries: 12 })).toBeLessThan(0.01)
    expect(apart({ name: 'p', backoff: { kind: 'fixed', delay: 3000, jitter }, retries: 9 })).toBeLessThan(
      0.01,
    )
  })

  it.each(JITTERS)('for jitter %o, whatever the window', (jitter) => {
    for (const window of [900, 3000, 5000, 20_000, 40_000, 100_000, 200_000]) {
      expect(apart(exponential(jitter, { window })), `window ${window}`).toBeLessThan(0.04)
    }
  })

  it('for decorrelated backoff', () => {
    for (const policy of [
      decorrelated(100, 3, 10_000, { retries: 5 }),
      decorrelated(100, 3, 10_000, { retries: 20 }),
      decorrelated(5, 3, 2000, { retries: 50 }),
      decorrelated(100, 1.5, 1000, { retries: 50 }),
      decorrelated(1000, 2, 1500, { retries: 30 }),
    ]) {
      expect(apart(policy)).toBeLessThan(0.02)
    }
    for (const window of [5000, 10_000, 20_000, 50_000, 100_000]) {
      expect(apart(decorrelated(100, 3, 10_000, { retries: 20, window })), `window ${window}`).toBeLessThan(
        0.2,
      )
    }
  })

  it('for tiers', () => {
    const tiers: Backoff = {
      kind: 'tiers',
      tiers: [
        { upTo: 2, backoff: { kind: 'fixed', delay: 2000, jitter: { kind: 'wide' } } },
        { upTo: 6, backoff: { kind: 'decorrelated', initial: 1000, multiplier: 3, max: 20_000 } },
        {
          upTo: 9,
          backoff: { kind: 'linear', initial: 0, step: 5000, max: 40_000, jitter: { kind: 'half' } },
        },
      ],
    }
    expect(apart({ name: 'p', backoff: tiers, retries: 12 })).toBeLessThan(0.02)
  })
})

describe('ten thousand retries', () => {
  it('are summed once the cap is reached', () => {
    // 1 + 2 + 4 + 8 + 16, then 9995 times 30 s
    const every = totalsOf(exponential({ kind: 'none' }, { retries: 10_000 }))
    expect(every.greatest).toBe(31_000 + 9995 * 30_000)
    const spent = spentOn(() => {
      for (let i = 0; i < 200; i++) totalsOf(exponential({ kind: 'half' }, { retries: 10_000 }))
    })
    expect(spent).toBeLessThan(1000)
  })

  it('need not all fit', () => {
    const { greatest, expected } = totalsOf(
      exponential({ kind: 'full' }, { retries: 10_000, window: 3_000_000 }),
    )
    expect(greatest).toBe(3_000_000)
    expect(expected).toBeGreaterThan(2_970_000)
  })
})
