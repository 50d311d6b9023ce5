import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { delayOf } from '../../core/backoff.ts'
import { POLICIES, type Policy } from '../../core/policy.ts'
import { delaysOf } from './delays.ts'

describe('all that a policy waits', () => {
  it.for([
    ['aggressive', { longest: 2000, greatest: 3500, expected: 2625, span: 15_000 }],
    ['standard', { longest: 16_000, greatest: 31_000, expected: 23_250, span: 300_000 }],
    ['none', { longest: 0, greatest: 0, expected: 0, span: 0 }],
  ] as const)('%s', ([name, expected]) => {
    expect(delaysOf(POLICIES[name])).toEqual(expected)
  })

  it('may go on to the end of the window, and without one as long as the delays', () => {
    const { window: _, ...endless } = POLICIES.standard
    expect(delaysOf({ ...endless, window: 10_000 })).toMatchObject({ span: 10_000, greatest: 31_000 })
    expect(delaysOf(endless)).toMatchObject({ span: 31_000 })
  })

  it('is never less than what the dice give', () => {
    const jitter = fc.constantFrom('none', 'full', 'half', 'wide').map((kind) => ({ kind }) as const)
    const figures = { initial: fc.integer({ min: 0, max: 5000 }), max: fc.integer({ min: 0, max: 60_000 }) }
    const backoff = fc.oneof(
      fc.record({
        kind: fc.constant('exponential'),
        ...figures,
        multiplier: fc.integer({ min: 1, max: 4 }),
        firstExponent: fc.constantFrom(0, 1),
        jitter,
      }),
      fc.record({ kind: fc.constant('linear'), ...figures, step: figures.initial, jitter }),
      fc.record({ kind: fc.constant('decorrelated'), ...figures, multiplier: fc.constant(3) }),
      fc.record({ kind: fc.constant('fixed'), delay: figures.initial, jitter }),
    )
    const rolls = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 20, maxLength: 20 })
    fc.assert(
      fc.property(backoff, fc.integer({ min: 1, max: 20 }), rolls, (formula, retries, dice) => {
        const policy = { name: 'own', backoff: formula, retries } as Policy
        let sum = 0
        let before: number | undefined
        for (let retry = 1; retry <= retries; retry++) {
          before = delayOf(policy.backoff, retry, () => dice[retry - 1]!, before)
          // delays are whole milliseconds, their bounds are not
          expect(before).toBeLessThanOrEqual(delaysOf(policy).longest + 1)
          sum += before
        }
        expect(sum).toBeLessThanOrEqual(delaysOf(policy).greatest + retries)
        expect(delaysOf(policy).expected).toBeLessThanOrEqual(delaysOf(policy).greatest)
      }),
    )
  })
})
