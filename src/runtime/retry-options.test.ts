import { describe, expect, it } from 'vitest'
import { failing, stage } from '../../test/retry/stage.ts'
import { Transient } from '../core/errors.ts'
import { POLICIES } from '../core/policy.ts'
import { retry } from '../retry.ts'
import { emptyBook } from '../rules/index.ts'
import { policyOf } from './retry-policy.ts'

describe('the policy', () => {
  it('bare: exponential, 3 attempts, 100 ms, 60 s, doubled, with jitter', () => {
    expect(policyOf('bare')).toEqual({
      name: 'bare',
      backoff: {
        kind: 'exponential',
        initial: 100,
        multiplier: 2,
        max: 60_000,
        firstExponent: 0,
        jitter: { kind: 'spread', ratio: 0.2 },
      },
      retries: 2,
    })
  })

  it('brisk: 100 ms doubled to 30 s, full jitter, 5 attempts', () => {
    expect(policyOf('brisk')).toEqual({
      name: 'brisk',
      backoff: {
        kind: 'exponential',
        initial: 100,
        multiplier: 2,
        max: 30_000,
        firstExponent: 0,
        jitter: { kind: 'full' },
      },
      retries: 4,
    })
  })

  it('is bare where nothing is said', async () => {
    const delays: number[] = []
    const { outcome } = stage({ onRetry: ({ delay }) => delays.push(delay), dice: { next: () => 0.5 } })
    expect(await outcome(failing(new Transient('no')))).toMatchObject({
      outcome: 'attempts exceeded',
      attempts: 3,
    })
    expect(delays).toEqual([100, 200])
  })

  it('has the published delays 200, 400, 800 ms for attempts 1, 2, 3 without jitter', async () => {
    const delays: number[] = []
    const policy = { initial: '100ms', firstExponent: 1, jitter: 'none', attempts: 4 } as const
    const { outcome } = stage({ policy, onRetry: ({ delay }) => delays.push(delay) })
    await outcome(failing(new Transient('no')))
    expect(delays).toEqual([200, 400, 800])
  })

  it.each(['full', 'wide', 'none'] as const)('jitter %s stays where it is published to', async (jitter) => {
    const [low, high] = { full: [0, 1], wide: [0.5, 1.5], none: [1, 1] }[jitter]
    for (let seed = 1; seed <= 50; seed++) {
      const delays: number[] = []
      const policy = { initial: 100, max: '30s', multiplier: 2, attempts: 5, jitter } as const
      const { outcome } = stage({ policy, onRetry: ({ delay }) => delays.push(delay) }, seed)
      await outcome(failing(new Transient('no')))
      expect(delays).toHaveLength(4)
      for (const [index, delay] of delays.entries()) {
        expect(delay).toBeGreaterThanOrEqual(100 * 2 ** index * low!)
        expect(delay).toBeLessThanOrEqual(100 * 2 ** index * high!)
      }
    }
  })

  it('by a name of the rule book, or from a book', () => {
    expect(policyOf('critical')).toBe(POLICIES.critical)
    const own = emptyBook.policies.get('patient')!
    expect(policyOf(own)).toBe(own)
  })

  it('in place as in a rule book, in milliseconds too', () => {
    const written = {
      backoff: 'linear',
      initial: '1s',
      step: 5000,
      max: '5m',
      jitter: '20%',
      retries: 3,
    } as const
    expect(policyOf(written)).toEqual({
      name: 'inline',
      backoff: {
        kind: 'linear',
        initial: 1000,
        step: 5000,
        max: 300_000,
        jitter: { kind: 'spread', ratio: 0.2 },
      },
      retries: 3,
    })
    expect(policyOf({ extends: 'patient', attempts: 2 })).toMatchObject({ retries: 1, window: 900_000 })
    expect(policyOf({ ...written })).toBe(policyOf(written))
    const tiers = [
      { upTo: 3, backoff: 'fixed', delay: 100, jitter: 'none' },
      { upTo: 9, backoff: 'fixed', delay: '1m', jitter: 'none' },
    ] as const
    expect(policyOf({ backoff: 'tiers', tiers, attempts: 10 })).toMatchObject({
      backoff: { tiers: [{ backoff: { delay: 100 } }, { backoff: { delay: 60_000 } }] },
    })
  })

  it('reads very many different ones without keeping them all', () => {
    for (let i = 1; i <= 250; i++) expect(policyOf({ initial: i })).toMatchObject({ backoff: { initial: i } })
  })
})

describe('a mistake is told before anything is called', () => {
  const never = () => {
    throw new Error('called')
  }

  it.each([
    [{ timeout: 'soon' }, "timeout: found 'soon', expected a duration such as 500ms"],
    [{ overall: -1 }, "overall: found '-1', expected a duration such as 500ms"],
    [{ overall: Number.NaN }, "overall: found 'NaN'"],
    [{ policy: 'standrad' }, "policy: found 'standrad', expected one of aggressive, standard"],
    [{ policy: { initial: 'soon' } }, "policies.inline.initial: found 'soon'"],
    [{ policy: { backoff: 'linear' } }, "found backoff linear without 'step'"],
    [{ policy: { initial: -5 } }, "policies.inline.initial: found '-5ms'"],
  ] as const)('%j', async (options, message) => {
    await expect(retry(never, options as never)).rejects.toThrow(message)
    await expect(retry.outcome(never, options as never)).rejects.toThrow(message)
    expect(() => retry.with(options as never)).toThrow(message)
  })
})
