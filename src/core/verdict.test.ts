import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Category, Failure } from './failure.ts'
import { POLICIES, type Policy } from './policy.ts'
import { freshTrail, type Trail } from './trail.ts'
import { decide, type Verdict } from './verdict.ts'

const failure = (category: Category, extra: Partial<Failure> = {}): Failure => ({
  category,
  kind: 'integration',
  name: 'Error',
  message: 'no',
  because: 'test',
  ...extra,
})

const failed = (category: Category, extra: Partial<Failure> = {}) =>
  ({ is: 'failed', failure: failure(category, extra) }) as const

/** Fails again and again, each retry exactly when it is due, until a verdict ends it. */
const live = (policy: Policy, categories: (attempt: number) => Category, roll = () => 0.5) => {
  let trail: Trail = freshTrail
  let now = 1_000_000
  const delays: number[] = []
  for (;;) {
    const verdict: Verdict = decide({ policy }, trail, failed(categories(trail.spent + 1)), now, roll)
    if (verdict.do !== 'retry') return { verdict, delays }
    delays.push(verdict.due - now)
    now = verdict.due
    trail = verdict.trail
  }
}

describe('decide', () => {
  it('done is done', () => {
    expect(decide({ policy: POLICIES.standard }, freshTrail, { is: 'done' }, 0, () => 0)).toEqual({
      do: 'done',
    })
  })

  it('retries a transient failure as often as the policy grants, then buries', () => {
    const { verdict, delays } = live(POLICIES.standard, () => 'transient')
    expect(delays).toEqual([750, 1500, 3000, 6000, 12_000])
    expect(verdict).toMatchObject({ do: 'dead', reason: 'attempts exhausted', trail: { spent: 6 } })
  })

  it('buries a permanent failure on the first attempt', () => {
    const { verdict, delays } = live(POLICIES.critical, () => 'permanent')
    expect(delays).toEqual([])
    expect(verdict).toMatchObject({ do: 'dead', reason: 'permanent', trail: { spent: 1 } })
  })

  it('calls what can not be decoded by its name', () => {
    const verdict = decide(
      { policy: POLICIES.standard },
      freshTrail,
      failed('permanent', { kind: 'schema' }),
      0,
      () => 0,
    )
    expect(verdict).toMatchObject({ do: 'dead', reason: 'undecodable' })
  })

  it('retries an unknown failure twice at most', () => {
    const { verdict, delays } = live(POLICIES.critical, () => 'unknown')
    expect(delays).toHaveLength(2)
    expect(verdict).toMatchObject({ do: 'dead', reason: 'attempts exhausted', trail: { spent: 3 } })
  })

  it('counts only unknown failures against those two', () => {
    const { delays } = live(POLICIES.critical, (attempt) => (attempt <= 4 ? 'transient' : 'unknown'))
    expect(delays).toHaveLength(6)
  })

  it('buries when the next retry would fall outside the window', () => {
    const policy: Policy = { ...POLICIES.standard, retries: 100, window: 10_000 }
    const { verdict, delays } = live(policy, () => 'transient')
    expect(delays).toEqual([750, 1500, 3000])
    expect(verdict).toMatchObject({ do: 'dead', reason: 'window exhausted' })
  })

  it('policy none buries on the first failure', () => {
    expect(live(POLICIES.none, () => 'transient').verdict).toMatchObject({ do: 'dead', trail: { spent: 1 } })
  })

  it('retry-after wins over the backoff, and being throttled without one waits longer', () => {
    const asked = decide(
      { policy: POLICIES.standard },
      freshTrail,
      failed('rate-limited', { retryAfter: 17_000 }),
      0,
      () => 0,
    )
    expect(asked).toMatchObject({ do: 'retry', due: 17_000 })
    const plain = decide({ policy: POLICIES.standard }, freshTrail, failed('rate-limited'), 0, () => 0)
    const transient = decide({ policy: POLICIES.standard }, freshTrail, failed('transient'), 0, () => 0)
    expect(plain).toMatchObject({ do: 'retry', due: 1000 })
    expect(transient).toMatchObject({ do: 'retry', due: 500 })
  })

  it('putting off spends no attempt', () => {
    const verdict = decide(
      { policy: POLICIES.none },
      freshTrail,
      { is: 'put off', delay: 5000, because: 'night' },
      100,
      () => 0,
    )
    expect(verdict).toEqual({ do: 'hold', due: 5100, because: 'night' })
  })

  it('never grants more attempts than the policy, whatever fails', () => {
    const categories = fc.array(fc.constantFrom<Category>('transient', 'rate-limited', 'unknown'), {
      minLength: 30,
      maxLength: 30,
    })
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(POLICIES)),
        categories,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (policy, list, roll) => {
          const { verdict, delays } = live(
            policy,
            (attempt) => list[attempt - 1]!,
            () => roll,
          )
          expect(delays.length).toBeLessThanOrEqual(policy.retries)
          expect(verdict.do).toBe('dead')
        },
      ),
    )
  })
})
