import fc from 'fast-check'
import type { Backoff, Jitter, PlainBackoff, Policy } from '../src/core/policy.ts'

/** Any policy that a rule book can hold. */

const TEN_YEARS = 3650 * 24 * 60 * 60 * 1000

export const jitters = (): fc.Arbitrary<Jitter> =>
  fc.oneof(
    fc.constantFrom<Jitter>({ kind: 'none' }, { kind: 'full' }, { kind: 'half' }, { kind: 'wide' }),
    fc.integer({ min: 0, max: 1000 }).map((permille): Jitter => ({ kind: 'spread', ratio: permille / 1000 })),
  )

const multiplier = fc.oneof(
  fc.constantFrom(1, 1.5, 2, 3, 10, 100),
  fc.integer({ min: 100, max: 10_000 }).map((n) => n / 100),
)

/** `longest`: no duration in it is longer. */
export const plainBackoffs = (longest = TEN_YEARS): fc.Arbitrary<PlainBackoff> => {
  const span = fc.oneof(fc.nat(Math.min(longest, 5000)), fc.integer({ min: 0, max: longest }))
  return fc.oneof(
    fc.constant<PlainBackoff>({ kind: 'none' }),
    fc.record({ kind: fc.constant('fixed' as const), delay: span, jitter: jitters() }),
    fc.record(
      {
        kind: fc.constant('linear' as const),
        initial: span,
        step: span,
        min: span,
        max: span,
        jitter: jitters(),
      },
      { requiredKeys: ['kind', 'initial', 'step', 'max', 'jitter'] },
    ),
    fc.record({
      kind: fc.constant('exponential' as const),
      initial: span,
      multiplier,
      max: span,
      firstExponent: fc.constantFrom(0 as const, 1 as const),
      jitter: jitters(),
    }),
    fc.record({ kind: fc.constant('decorrelated' as const), initial: span, multiplier, max: span }),
  )
}

export const backoffs = (longest?: number): fc.Arbitrary<Backoff> => {
  const plain = plainBackoffs(longest)
  const tier = fc.record({ length: fc.integer({ min: 1, max: 6 }), backoff: plain })
  return fc.oneof(
    { weight: 4, arbitrary: plain },
    {
      weight: 1,
      arbitrary: fc.array(tier, { minLength: 1, maxLength: 4 }).map((list): Backoff => {
        const ends = list.map((_, i) => list.slice(0, i + 1).reduce((sum, { length }) => sum + length, 0))
        return { kind: 'tiers', tiers: list.map(({ backoff }, i) => ({ upTo: ends[i]!, backoff })) }
      }),
    },
  )
}

export const policies = (longest?: number, mostRetries = 20): fc.Arbitrary<Policy> =>
  fc
    .record({
      backoff: backoffs(longest),
      retries: fc.nat(mostRetries),
      window: fc.option(fc.integer({ min: 0, max: longest === undefined ? TEN_YEARS : 4 * longest }), {
        nil: undefined,
      }),
    })
    .map(({ window, ...policy }) => ({ name: 'drawn', ...policy, ...(window !== undefined && { window }) }))

/** In [0, 1), the ends included often. */
export const rolls = (): fc.Arbitrary<number> =>
  fc.oneof(
    fc.constantFrom(0, 0.5, 1 - 2 ** -53),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  )
