import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Category, Failure } from './failure.ts'
import { POLICIES, type Policy } from './policy.ts'
import { decodeTrail, encodeTrail, freshTrail, type Trail } from './trail.ts'
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

  it('retries an unknown failure as often as the policy says, within its limit', () => {
    expect(live({ ...POLICIES.critical, unknownRetries: 5 }, () => 'unknown').delays).toHaveLength(5)
    expect(live({ ...POLICIES.standard, unknownRetries: 9 }, () => 'unknown').delays).toHaveLength(5)
    expect(live({ ...POLICIES.critical, unknownRetries: 0 }, () => 'unknown').delays).toHaveLength(0)
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

  it('without a window only the limit bounds it', () => {
    const policy: Policy = { name: 'p', backoff: POLICIES.critical.backoff, retries: 40 }
    expect(live(policy, () => 'transient')).toMatchObject({ verdict: { reason: 'attempts exhausted' } })
    expect(live(policy, () => 'transient').delays).toHaveLength(40)
  })

  it('a timeout is retried like any transient failure, and buries when nothing is left', () => {
    let trail: Trail = freshTrail
    const reasons: string[] = []
    for (let i = 0; i < 4; i++) {
      const verdict = decide(
        { policy: POLICIES.aggressive },
        trail,
        failed('transient', { kind: 'timeout' }),
        i,
        () => 0,
      )
      reasons.push('reason' in verdict ? verdict.reason : verdict.do)
      if ('trail' in verdict) trail = verdict.trail
    }
    expect(reasons).toEqual(['retry', 'retry', 'retry', 'attempts exhausted'])
  })

  it('what the handler refuses is buried with its reason, and the attempt is told', () => {
    const outcome = { is: 'refused', reason: 'refused', failure: failure('transient') } as const
    expect(decide({ policy: POLICIES.standard }, freshTrail, outcome, 5, () => 0)).toMatchObject({
      do: 'dead',
      reason: 'refused',
      trail: { spent: 1, firstFailureAt: 5 },
    })
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

describe("the other side's wish", () => {
  const asking = (retryAfter: number, trail: Trail = freshTrail, policy: Policy = POLICIES.standard) =>
    decide({ policy }, trail, failed('transient', { retryAfter }), 1000, () => 0.5)

  it('wins, be it longer than the cap or nothing at all', () => {
    expect(asking(200_000)).toMatchObject({ do: 'retry', due: 201_000 })
    expect(asking(0)).toMatchObject({ do: 'retry', due: 1000 })
    expect(asking(0.2)).toMatchObject({ do: 'retry', due: 1001 })
  })

  it('goes no further than limit and window', () => {
    expect(asking(300_000)).toMatchObject({ do: 'retry', due: 301_000 })
    expect(asking(300_001)).toMatchObject({ do: 'dead', reason: 'window exhausted' })
    expect(asking(10, { ...freshTrail, spent: 5 })).toMatchObject({
      do: 'dead',
      reason: 'attempts exhausted',
    })
    expect(asking(10, freshTrail, POLICIES.none)).toMatchObject({ do: 'dead', reason: 'attempts exhausted' })
  })

  it('leaves our own pace as it was', () => {
    expect(asking(200_000, { ...freshTrail, spent: 1, delay: 700 })).toMatchObject({ trail: { delay: 700 } })
  })
})

describe('the last delay', () => {
  const policy: Policy = {
    name: 'p',
    backoff: { kind: 'decorrelated', initial: 100, multiplier: 3, max: 5000 },
    retries: 6,
  }

  it('travels with the trail, and the next grows out of it', () => {
    let trail: Trail = freshTrail
    const delays: number[] = []
    for (let now = 0; ; ) {
      const verdict = decide({ policy }, trail, failed('transient'), now, () => 0.999_999)
      if (verdict.do !== 'retry') break
      delays.push(verdict.due - now)
      now = verdict.due
      trail = decodeTrail(encodeTrail(verdict.trail))
      expect(trail.delay).toBe(delays.at(-1))
    }
    expect(delays).toEqual([300, 900, 2700, 5000, 5000, 5000])
  })

  it('being throttled goes one step further', () => {
    const verdict = decide(
      { policy },
      { ...freshTrail, spent: 1, delay: 200 },
      failed('rate-limited'),
      0,
      () => 0.5,
    )
    // 350 out of [100, 600], then 575 out of [100, 1050]
    expect(verdict).toMatchObject({ due: 575, trail: { delay: 575 } })
  })

  it('that someone else wrote into a header does no harm', () => {
    for (const delay of ['"x"', 'null', '-5', '{}', '1e999']) {
      const trail = decodeTrail(`{"spent":1,"generation":0,"counts":{},"records":[],"delay":${delay}}`)
      const verdict = decide({ policy }, trail, failed('transient'), 0, () => 0.5)
      expect(verdict, delay).toMatchObject({ do: 'retry', due: 200 })
    }
  })
})
