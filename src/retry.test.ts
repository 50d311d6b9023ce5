import { describe, expect, expectTypeOf, it } from 'vitest'
import { failing, stage } from '../test/retry/stage.ts'
import { classify } from './core/classify.ts'
import { BusinessRule, Permanent, RateLimited, Timeout, Transient } from './core/errors.ts'
import { createBreaker, type RetryOutcome, retry } from './retry.ts'
import { RetryFailed } from './runtime/retry-failed.ts'
import type { RetryOptions } from './runtime/retry-options.ts'

const FIXED = { backoff: 'fixed', delay: '100ms', jitter: 'none', attempts: 4 } as const

describe('retry', () => {
  it('answers with what the function answers, at once or later', async () => {
    expect(await retry(async () => 'later')).toBe('later')
    expect(await retry(() => 'at once')).toBe('at once')
  })

  it('is typed by the function', async () => {
    expectTypeOf(retry(async () => 3)).resolves.toEqualTypeOf<number>()
    expectTypeOf(retry(() => 'text')).resolves.toEqualTypeOf<string>()
    expectTypeOf(retry.outcome(async () => 3)).resolves.toEqualTypeOf<RetryOutcome<number>>()
    expectTypeOf(retry.with({})(async () => true)).resolves.toEqualTypeOf<boolean>()
  })

  it('waits by the policy between attempts, and tells the function which one it is', async () => {
    const { clock, begun, run } = stage({ policy: FIXED })
    const seen: [number, number][] = []
    const value = await run(async ({ attempt }) => {
      seen.push([attempt, clock.now() - begun])
      if (attempt < 4) throw new Transient('not yet')
      return 'at last'
    })
    expect(value).toBe('at last')
    expect(seen).toEqual([
      [1, 0],
      [2, 100],
      [3, 200],
      [4, 300],
    ])
  })

  it('takes what is thrown at once as it takes what is rejected', async () => {
    const { outcome } = stage({ policy: FIXED })
    const ended = await outcome(() => {
      throw new Transient('at once')
    })
    expect(ended).toMatchObject({ outcome: 'attempts exceeded', attempts: 4, duration: 300 })
  })

  it('same dice, same waits', async () => {
    const waits = async (seed: number) => {
      const delays: number[] = []
      const { outcome } = stage({ policy: 'brisk', onRetry: ({ delay }) => delays.push(delay) }, seed)
      await outcome(failing(new Transient('no')))
      return delays
    }
    expect(await waits(7)).toEqual(await waits(7))
    expect(await waits(7)).not.toEqual(await waits(8))
  })
})

describe('retry gives up', () => {
  it('when attempts are exceeded, with count, duration and last error', async () => {
    const { run } = stage({ policy: FIXED })
    const error = new Transient('down', { code: 'E_DOWN' })
    const thrown = await run(failing(error)).catch((each) => each)
    expect(thrown).toBeInstanceOf(RetryFailed)
    expect(thrown).toMatchObject({
      name: 'RetryFailed',
      message: 'attempts exceeded after 4 attempts in 300 ms: down',
      outcome: 'attempts exceeded',
      attempts: 4,
      duration: 300,
      failure: { category: 'transient', code: 'E_DOWN' },
      breakerOpened: false,
    })
    expect(thrown.cause).toBe(error)
    expect(thrown.lastError).toBe(error)
  })

  it('at once on a permanent failure', async () => {
    const { outcome } = stage({ policy: FIXED })
    const error = new BusinessRule('no credit')
    expect(await outcome(failing(error))).toEqual({
      outcome: 'permanent',
      attempts: 1,
      duration: 0,
      lastError: error,
      failure: classify(error),
      breakerOpened: false,
    })
    expect(await outcome(() => JSON.parse('{'))).toMatchObject({ outcome: 'permanent', attempts: 1 })
  })

  it('after two retries of an error nobody knows, whatever the policy grants', async () => {
    const { outcome } = stage({ policy: 'brisk' })
    expect(await outcome(failing(new Error('?')))).toMatchObject({
      outcome: 'attempts exceeded',
      attempts: 3,
    })
  })

  it('when the overall time ends within an attempt', async () => {
    const { outcome } = stage({ policy: FIXED, overall: '250ms' })
    const ended = await outcome(({ attempt }) => {
      if (attempt < 3) throw new Transient('no')
      return new Promise(() => {})
    })
    expect(ended).toMatchObject({ outcome: 'timed out', attempts: 3, duration: 250 })
    expect((ended as { lastError: unknown }).lastError).toBeInstanceOf(Timeout)
  })

  it('without waiting when the next attempt would come too late', async () => {
    const { outcome } = stage({ policy: FIXED, overall: 300 })
    expect(await outcome(failing(new Transient('no')))).toMatchObject({
      outcome: 'timed out',
      attempts: 3,
      duration: 200,
    })
  })

  it('after 5 minutes unless told otherwise', async () => {
    const { outcome } = stage({ policy: { backoff: 'fixed', delay: '1m', jitter: 'none', attempts: 10 } })
    expect(await outcome(failing(new Transient('no')))).toMatchObject({
      outcome: 'timed out',
      attempts: 5,
      duration: 240_000,
    })
    expect(await outcome(() => new Promise(() => {}))).toMatchObject({
      outcome: 'timed out',
      duration: 300_000,
    })
  })

  it("when the policy's window is over", async () => {
    const { outcome } = stage({ policy: { ...FIXED, window: '150ms' } })
    expect(await outcome(failing(new Transient('no')))).toMatchObject({ outcome: 'timed out', attempts: 2 })
  })

  it('tells a handler above what it means', async () => {
    const told = async (options: RetryOptions, error: Error) => {
      const { run } = stage(options)
      return classify(await run(failing(error)).catch((each) => each))
    }
    const policy = { backoff: 'none', attempts: 2 } as const
    expect(await told({ policy }, new Transient('no'))).toMatchObject({ category: 'transient' })
    expect(await told({ policy }, new Error('?'))).toMatchObject({ category: 'unknown' })
    expect(await told({ policy }, new BusinessRule('no'))).toMatchObject({
      category: 'permanent',
      kind: 'business',
    })
    const overall = { policy: FIXED, overall: 50 }
    expect(await told(overall, new RateLimited('slow down', { retryAfter: 9000 }))).toMatchObject({
      category: 'transient',
      retryAfter: 9000,
    })
    const { clock } = stage({})
    const breaker = createBreaker({ open: '30s' }, { clock })
    breaker.forceOpen()
    const refused = await retry(() => 1, { breaker, clock }).catch((each) => classify(each))
    expect(refused).toMatchObject({ category: 'transient', kind: 'integration', retryAfter: 30_000 })
  })
})

describe('Retry-After', () => {
  it('wins over the backoff', async () => {
    const delays: number[] = []
    const { outcome } = stage({ policy: FIXED, onRetry: ({ delay }) => delays.push(delay) })
    const response = Object.assign(new Error('busy'), { status: 503, headers: { 'retry-after': '2' } })
    const ended = await outcome(({ attempt }) => {
      if (attempt === 1) throw response
      if (attempt === 2) throw new RateLimited('slow down', { retryAfter: 50 })
      return 'fine'
    })
    expect(delays).toEqual([2000, 50])
    expect(ended).toEqual({ outcome: 'done', value: 'fine', attempts: 3, duration: 2050 })
  })

  it('beyond the overall time ends it at once', async () => {
    const { outcome } = stage({ policy: FIXED, overall: '1m' })
    expect(await outcome(failing(new RateLimited('no', { retryAfter: 60_000 })))).toMatchObject({
      outcome: 'timed out',
      attempts: 1,
      duration: 0,
    })
  })
})

describe('what is an error', () => {
  it('overrides decide as in a rule book', async () => {
    const { outcome } = stage({
      policy: FIXED,
      overrides: [
        { match: { message: 'not found' }, category: 'transient', reason: 'the index lags behind' },
        { match: { name: 'TypeError' }, category: 'permanent', reason: 'a defect' },
      ],
    })
    expect(await outcome(failing(new Permanent('not found')))).toMatchObject({ attempts: 4 })
    expect(await outcome(failing(new TypeError('undefined')))).toMatchObject({ outcome: 'permanent' })
  })

  it('a classification of your own decides all', async () => {
    const seen: unknown[] = []
    const { outcome, begun } = stage({
      policy: FIXED,
      classify: (error, overrides, now) => {
        seen.push(now)
        return { ...classify(error, overrides, now), category: 'transient' }
      },
    })
    expect(await outcome(failing(new Permanent('no')))).toMatchObject({ attempts: 4 })
    expect(seen).toEqual([begun, begun + 100, begun + 200, begun + 300])
  })
})

describe('callbacks', () => {
  it('hear attempts, retries and the end, in order', async () => {
    const heard: unknown[] = []
    const { outcome } = stage({
      policy: FIXED,
      onAttempt: (about) => heard.push(['attempt', about]),
      onRetry: ({ attempt, delay, failure, error }) =>
        heard.push(['retry', attempt, delay, failure.message, (error as Error).message]),
      onSuccess: (about) => heard.push(['success', about]),
      onFailure: ({ outcome, attempts }) => heard.push(['failure', outcome, attempts]),
    })
    await outcome(({ attempt }) => {
      if (attempt === 1) throw new Transient('no')
    })
    await outcome(failing(new Permanent('never')))
    expect(heard).toEqual([
      ['attempt', { attempt: 1 }],
      ['retry', 1, 100, 'no', 'no'],
      ['attempt', { attempt: 2 }],
      ['success', { attempts: 2, duration: 100 }],
      ['attempt', { attempt: 1 }],
      ['failure', 'permanent', 1],
    ])
  })

  it.each(['onAttempt', 'onRetry', 'onSuccess', 'onFailure'] as const)(
    'what %s throws ends the call, and no permit is kept',
    async (name) => {
      const breaker = createBreaker({ failures: 1, open: 0 })
      breaker.failure(breaker.ask() as number)
      const { run, outcome } = stage({
        policy: { backoff: 'none', attempts: 2 },
        breaker,
        counts: () => 'nothing',
        [name]: () => {
          throw new Error('a defect in the callback')
        },
      })
      const fn = name === 'onSuccess' ? () => 1 : failing(new Transient('no'))
      await expect(run(fn)).rejects.toThrow('a defect in the callback')
      await expect(outcome(fn)).rejects.toThrow('a defect in the callback')
      expect(breaker.state).not.toMatchObject({ probes: [expect.anything()] })
    },
  )
})
