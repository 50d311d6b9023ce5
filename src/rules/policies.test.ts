import { describe, expect, it } from 'vitest'
import { delayOf } from '../core/backoff.ts'
import { POLICIES } from '../core/policy.ts'
import { emptyBook } from './book.ts'
import { readRules } from './load.ts'

const policy = (text: string) =>
  readRules(`version: 1\npolicies:\n  p: ${text}\n`, 'book.yaml').policies.get('p')!

const delays = (text: string, retries: number, roll = 0.5) =>
  Array.from({ length: retries }, (_, index) => delayOf(policy(text).backoff, index + 1, () => roll))

describe('policies of a rule book', () => {
  it('stand beside the built-in ones', () => {
    expect([...emptyBook.policies.keys()]).toEqual(['aggressive', 'standard', 'patient', 'critical', 'none'])
    expect(emptyBook.policies.get('patient')).toBe(POLICIES.patient)
  })

  it('a bare one is exponential, three attempts, 100 ms to 60 s, doubled, spread by 20%', () => {
    expect(policy('{}')).toEqual({
      name: 'p',
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

  it('200, 400, 800 ms from 100 ms, when the first retry is multiplied already', () => {
    expect(delays('{ initial: 100ms, max: 5m, jitter: none, attempts: 5, firstExponent: 1 }', 3)).toEqual([
      200, 400, 800,
    ])
  })

  it('1 s doubled to 60 s, spread by 10%, first retry multiplied', () => {
    const text = '{ initial: 1s, multiplier: 2, max: 60s, jitter: ±10%, retries: 5, firstExponent: 1 }'
    expect(delays(text, 6)).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000])
    expect(delays(text, 1, 0)).toEqual([1800])
    expect(policy(text).retries).toBe(5)
  })

  it('1 s doubled to 300 s, spread after the cap', () => {
    const text = '{ attempts: 5, initial: 1s, max: 300s, jitter: 20% }'
    expect(delays(text, 10)).toEqual([
      1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000,
    ])
    expect(delays(text, 10, 0.9999999).at(-1)).toBe(360_000)
    expect(policy(text).retries).toBe(4)
  })

  it('linear never waits less than its floor', () => {
    expect(delays('{ backoff: linear, step: 400ms, min: 1s, max: 5m, jitter: none }', 4)).toEqual([
      1000, 1000, 1200, 1600,
    ])
  })

  it('grant an unknown failure as many retries as they say', () => {
    expect(policy('{ unknownRetries: 4 }').unknownRetries).toBe(4)
    expect(policy('{ extends: standard }').unknownRetries).toBeUndefined()
  })

  it('linear, whose first step is a step unless something else is said', () => {
    expect(delays('{ backoff: linear, step: 5s, max: 18s, jitter: none, attempts: 5 }', 4)).toEqual([
      5000, 10_000, 15_000, 18_000,
    ])
    expect(delays('{ backoff: linear, initial: 1s, step: 5s, jitter: none }', 2)).toEqual([1000, 6000])
  })

  it('fixed, and at once', () => {
    expect(delays('{ backoff: fixed, delay: 3s, jitter: none }', 2)).toEqual([3000, 3000])
    expect(policy('{ backoff: none, attempts: 2 }')).toEqual({
      name: 'p',
      backoff: { kind: 'none' },
      retries: 1,
    })
  })

  it('in tiers that escalate', () => {
    const tiers = [
      '{ upTo: 2, backoff: fixed, delay: 1s, jitter: none }',
      '{ upTo: 4, backoff: linear, step: 10s, jitter: none }',
      '{ upTo: 6, backoff: exponential, initial: 1m, max: 1h, jitter: none }',
    ]
    const text = `{ backoff: tiers, retries: 6, tiers: [${tiers.join(', ')}] }`
    // the formula of a tier goes by the number of the retry, not of the tier
    expect(delays(text, 5)).toEqual([1000, 1000, 30_000, 40_000, 960_000])
  })

  it('over another: only what is said changes', () => {
    expect(policy('{ extends: critical, retries: 20 }')).toEqual({
      ...POLICIES.critical,
      name: 'p',
      retries: 20,
    })
    expect(policy('{ extends: standard, backoff: linear, step: 2s }')).toEqual({
      name: 'p',
      backoff: { kind: 'linear', initial: 1000, step: 2000, max: 30_000, jitter: { kind: 'half' } },
      retries: 5,
      window: 300_000,
    })
    expect(policy('{ extends: none, attempts: 3 }')).toEqual({
      name: 'p',
      backoff: { kind: 'none' },
      retries: 2,
    })
  })

  it('a built-in one changed on purpose changes for those that extend it too', () => {
    const text =
      'version: 1\npolicies:\n  mine: { extends: patient }\n  patient: { extends: patient, retries: 1 }\n'
    const { policies } = readRules(text, 'book.yaml')
    expect(policies.get('patient')).toEqual({ ...POLICIES.patient, retries: 1 })
    expect(policies.get('mine')).toMatchObject({ name: 'mine', retries: 1, window: 900_000 })
  })

  it('every jitter', () => {
    const jitter = (text: string) => policy(`{ jitter: ${text} }`).backoff
    expect(['none', 'full', 'half', 'wide'].map((kind) => jitter(kind))).toMatchObject(
      ['none', 'full', 'half', 'wide'].map((kind) => ({ jitter: { kind } })),
    )
    expect(jitter('12.5%')).toMatchObject({ jitter: { kind: 'spread', ratio: 0.125 } })
  })
})
