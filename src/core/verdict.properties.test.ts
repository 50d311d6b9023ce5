import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policies } from '../../test/policies.ts'
import { loadedDice } from '../testing/dice.ts'
import type { Category, Failure } from './failure.ts'
import type { Policy } from './policy.ts'
import { totalsOf } from './totals.ts'
import { freshTrail, type Trail } from './trail.ts'
import { decide, UNKNOWN_RETRIES } from './verdict.ts'

const failed = (category: Category, extra: Partial<Failure> = {}) =>
  ({
    is: 'failed',
    failure: { category, kind: 'integration', name: 'Error', message: 'no', because: 'test', ...extra },
  }) as const

describe('for every policy and whatever fails', () => {
  const failing = fc.record({
    category: fc.constantFrom<Category>('transient', 'rate-limited', 'unknown'),
    retryAfter: fc.option(fc.nat(20_000), { nil: undefined, freq: 4 }),
    took: fc.nat(500),
  })
  const lives = fc.array(failing, { minLength: 25, maxLength: 25 })

  /** The moments of all attempts, each failing after it took its time, and how it ended. */
  const trace = (
    policy: Policy,
    life: readonly { category: Category; retryAfter: number | undefined; took: number }[],
    seed: number,
  ) => {
    const { next } = loadedDice(seed)
    const failures: number[] = []
    let trail: Trail = freshTrail
    let due = 1_000_000
    for (let i = 0; ; i++) {
      const { category, retryAfter, took } = life[i % life.length]!
      const now = due + took
      failures.push(now)
      const extra = retryAfter === undefined ? {} : { retryAfter }
      const verdict = decide({ policy }, trail, failed(category, extra), now, next)
      if (verdict.do !== 'retry') return { verdict, failures, last: due }
      expect(Number.isSafeInteger(verdict.due)).toBe(true)
      expect(verdict.due).toBeGreaterThanOrEqual(now)
      if (retryAfter !== undefined) expect(verdict.due).toBe(now + retryAfter)
      due = verdict.due
      trail = verdict.trail
    }
  }

  it('attempts never exceed the limit, and unknown failures never more than two retries', () => {
    fc.assert(
      fc.property(policies(10_000), lives, fc.nat(), (policy, life, seed) => {
        const { verdict, failures } = trace(policy, life, seed)
        expect(failures.length).toBeLessThanOrEqual(policy.retries + 1)
        expect(verdict).toMatchObject({ do: 'dead', trail: { spent: failures.length } })
        const unknown = verdict.do === 'dead' ? (verdict.trail.counts.unknown ?? 0) : 0
        expect(unknown).toBeLessThanOrEqual(UNKNOWN_RETRIES + 1)
      }),
    )
  })

  it('no retry is due later than the window after the first failure', () => {
    fc.assert(
      fc.property(policies(10_000), lives, fc.nat(), (policy, life, seed) => {
        const { failures, last } = trace(policy, life, seed)
        if (failures.length > 1 && policy.window !== undefined) {
          expect(last - failures[0]!).toBeLessThanOrEqual(policy.window)
        }
      }),
    )
  })

  it('it is buried for what is really exhausted', () => {
    fc.assert(
      fc.property(policies(10_000), lives, fc.nat(), (policy, life, seed) => {
        const { verdict, failures } = trace(policy, life, seed)
        if (verdict.do !== 'dead') throw new Error(verdict.do)
        if (verdict.reason === 'window exhausted') expect(policy.window).toBeDefined()
        else {
          expect(verdict.reason).toBe('attempts exhausted')
          const unknown = verdict.trail.counts.unknown ?? 0
          expect(failures.length === policy.retries + 1 || unknown === UNKNOWN_RETRIES + 1).toBe(true)
        }
      }),
    )
  })

  it('the same dice give the same trace', () => {
    fc.assert(
      fc.property(policies(10_000), lives, fc.nat(), (policy, life, seed) => {
        expect(trace(policy, life, seed)).toEqual(trace(policy, life, seed))
      }),
    )
  })

  it('plain failures that take no time wait within the totals told in advance', () => {
    const plain = [{ category: 'transient' as const, retryAfter: undefined, took: 0 }]
    fc.assert(
      fc.property(policies(10_000), fc.nat(), (policy, seed) => {
        const { failures, last } = trace(policy, plain, seed)
        const { least, greatest } = totalsOf(policy)
        expect(last - failures[0]!).toBeGreaterThanOrEqual(least)
        expect(last - failures[0]!).toBeLessThanOrEqual(greatest)
      }),
    )
  })
})
