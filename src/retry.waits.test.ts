import { describe, expect, it } from 'vitest'
import { failing, stage } from '../test/retry/stage.ts'
import { Permanent, RateLimited, Timeout, Transient } from './core/errors.ts'
import { createBreaker, retry } from './retry.ts'
import type { RetryOptions } from './runtime/retry-options.ts'
import { virtualClock } from './testing/clock.ts'

const FIXED = { backoff: 'fixed', delay: '100ms', jitter: 'none', attempts: 4 } as const
const never = () => new Promise<never>(() => {})

describe('the time of an attempt', () => {
  it('ends it as a failure that is retried, and tells its signal', async () => {
    const { outcome } = stage({ policy: FIXED, timeout: '1s' })
    const signals: AbortSignal[] = []
    const ended = await outcome(({ attempt, signal }) => {
      signals.push(signal)
      return attempt < 3 ? never() : 'fine'
    })
    expect(ended).toEqual({ outcome: 'done', value: 'fine', attempts: 3, duration: 2200 })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false])
    expect(signals[0]!.reason).toBeInstanceOf(Timeout)
  })

  it('is no longer than what is left of the whole', async () => {
    const { outcome } = stage({ policy: FIXED, timeout: '1s', overall: '1500ms' })
    expect(await outcome(never)).toMatchObject({ outcome: 'timed out', attempts: 2, duration: 1500 })
  })

  it('the last one ends as attempts exceeded, not as timed out', async () => {
    const { outcome } = stage({ policy: FIXED, timeout: '1s' })
    expect(await outcome(never)).toMatchObject({
      outcome: 'attempts exceeded',
      attempts: 4,
      duration: 4300,
      failure: { kind: 'timeout', message: 'the attempt took longer than 1000 ms' },
    })
  })

  it('ends nothing that ends in time, and leaves no timer behind', async () => {
    const { clock, run } = stage({ timeout: '1s' })
    await run(() => clock.sleep(999))
    await clock.advance(0)
    expect(clock.sleepers).toBe(0)
  })

  it('costs calls that follow one another one timer, not one each', async () => {
    const clock = virtualClock()
    let timers = 0
    const sleep = (ms: number, signal?: AbortSignal) => {
      if (ms > 0) timers++
      return clock.sleep(ms, signal)
    }
    const run = retry.with({ clock: { now: clock.now, sleep }, timeout: '1s' })
    // a turn or two of the event loop each, as a call to somewhere takes
    for (let i = 0; i < 100; i++) await run(() => clock.sleep(0).then(() => clock.sleep(0)))
    expect(timers).toBeLessThanOrEqual(2)
  })

  it('may be without end', async () => {
    const { clock, compiled } = stage({ overall: Number.POSITIVE_INFINITY })
    const running = compiled(() => clock.sleep(3_600_000_000).then(() => 'at last'))
    expect(await clock.runUntil(running)).toBe('at last')
  })
})

describe('a signal', () => {
  const aborted = async (
    options: RetryOptions,
    fn: (context: { attempt: number; signal: AbortSignal }) => unknown,
    after: number,
  ) => {
    const stop = new AbortController()
    const { clock, begun, compiled } = stage({ policy: FIXED, ...options })
    const ending = compiled.outcome(fn, stop.signal)
    await clock.advance(after)
    stop.abort(new Error('enough'))
    const ended = await ending
    await clock.advance(0)
    return { ended, took: clock.now() - begun, sleepers: clock.sleepers }
  }

  it('that has aborted already: no attempt is made', async () => {
    let attempts = 0
    const signal = AbortSignal.abort(new Error('before'))
    await expect(retry(() => attempts++, { signal })).rejects.toMatchObject({
      outcome: 'aborted',
      attempts: 0,
      lastError: new Error('before'),
    })
    expect(attempts).toBe(0)
  })

  it('ends a running attempt at once, and tells it', async () => {
    let own: AbortSignal | undefined
    const { ended, took, sleepers } = await aborted(
      { timeout: '1s' },
      ({ signal }) => {
        own = signal
        return never()
      },
      50,
    )
    expect(ended).toEqual({
      outcome: 'aborted',
      attempts: 1,
      duration: 50,
      lastError: new Error('enough'),
      breakerOpened: false,
    })
    expect(own!.reason).toEqual(new Error('enough'))
    expect([took, sleepers]).toEqual([50, 0])
  })

  it('ends the wait of a backoff at once', async () => {
    const { ended, sleepers } = await aborted({}, failing(new Transient('no')), 150)
    expect(ended).toMatchObject({
      outcome: 'aborted',
      attempts: 2,
      duration: 150,
      failure: { message: 'no' },
    })
    expect(sleepers).toBe(0)
  })

  it('ends the wait of a Retry-After at once', async () => {
    const { ended } = await aborted({}, failing(new RateLimited('no', { retryAfter: 60_000 })), 5)
    expect(ended).toMatchObject({ outcome: 'aborted', attempts: 1, duration: 5 })
  })

  it('ends a function that answers to it by failing', async () => {
    const { ended } = await aborted(
      {},
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
      10,
    )
    expect(ended).toMatchObject({ outcome: 'aborted', attempts: 1 })
  })

  it('comes too late for what has ended', async () => {
    const stop = new AbortController()
    const { clock, compiled } = stage({})
    const running = compiled(async () => 'fine', stop.signal)
    await clock.advance(0)
    stop.abort()
    expect(await running).toBe('fine')
  })

  it('of the options holds unless the call has its own', async () => {
    const clock = virtualClock()
    const run = retry.with({ clock, signal: AbortSignal.abort() })
    expect(await run.outcome(() => 1)).toMatchObject({ outcome: 'aborted' })
    expect(await run(() => 1, new AbortController().signal)).toBe(1)
  })
})

describe('what comes late', () => {
  it.each(['answers', 'fails'] as const)('changes nothing when an attempt that timed out %s', async (how) => {
    const breaker = createBreaker({ failures: 2 })
    const { clock, outcome } = stage({ policy: FIXED, timeout: '1s', breaker })
    const late = Promise.withResolvers<string>()
    const ended = await outcome(({ attempt }) => (attempt === 1 ? late.promise : 'the second'))
    const { counts } = breaker
    if (how === 'answers') late.resolve('the first')
    else late.reject(new Error('too late to matter'))
    await clock.advance(1000)
    expect(ended).toMatchObject({ outcome: 'done', value: 'the second' })
    expect(breaker.counts).toEqual(counts)
    expect(counts).toMatchObject({ calls: 2, successes: 1, failures: 1 })
  })

  it('is not unhandled when the call was aborted', async () => {
    const stop = new AbortController()
    const { clock, compiled } = stage({})
    const late = Promise.withResolvers<string>()
    const ending = compiled.outcome(() => late.promise, stop.signal)
    stop.abort()
    expect(await ending).toMatchObject({ outcome: 'aborted' })
    late.reject(new Error('nobody waits for it'))
    await clock.advance(1000)
  })

  it('a success of a call begun before the trip does not close the breaker', async () => {
    const clock = virtualClock()
    const breaker = createBreaker({ failures: 1, open: '10s' }, { clock })
    const run = retry.with({ policy: 'none', breaker, clock })
    const slow = Promise.withResolvers<string>()
    const first = run(() => slow.promise)
    await run.outcome(failing(new Transient('down')))
    slow.resolve('fine')
    expect(await first).toBe('fine')
    expect(breaker.state.is).toBe('open')
  })
})

describe('the breaker', () => {
  const guarded = (options: RetryOptions = {}, failures = 2) => {
    const set = stage({})
    const breaker = createBreaker({ failures, open: '30s' }, { clock: set.clock })
    const compiled = retry.with({ clock: set.clock, policy: FIXED, breaker, ...options })
    const outcome = <T>(fn: () => Promise<T> | T) => set.clock.runUntil(compiled.outcome(fn))
    return { ...set, breaker, outcome }
  }

  it('is asked before each attempt, and its refusal ends the call', async () => {
    const { outcome, breaker, begun } = guarded()
    const down = new Transient('down')
    expect(await outcome(failing(down))).toMatchObject({
      outcome: 'breaker open',
      attempts: 2,
      duration: 200,
      lastError: down,
      failure: { message: 'down' },
      breakerOpened: true,
      retryAt: begun + 100 + 30_000,
    })
    expect(await outcome(() => 'not called')).toEqual({
      outcome: 'breaker open',
      attempts: 0,
      duration: 0,
      lastError: undefined,
      breakerOpened: true,
      retryAt: begun + 100 + 30_000,
    })
    expect(breaker.counts).toEqual({ calls: 2, successes: 0, failures: 2, rejections: 2, transitions: 1 })
  })

  it('that opened on the last attempt is told', async () => {
    const { outcome } = guarded({ policy: { ...FIXED, attempts: 2 } })
    expect(await outcome(failing(new Transient('down')))).toMatchObject({
      outcome: 'attempts exceeded',
      breakerOpened: true,
    })
  })

  it('lets calls through again after its time', async () => {
    const { outcome, breaker, clock } = guarded()
    await outcome(failing(new Transient('down')))
    await clock.advance(30_000)
    expect(await outcome(() => 'up')).toMatchObject({ outcome: 'done' })
    expect(breaker.state.is).toBe('closed')
  })

  it('hears of every failure but permanent ones', async () => {
    const { outcome, breaker } = guarded({ policy: 'none' }, 10)
    for (const error of [new Transient('a'), new RateLimited('b'), new Error('c'), new Permanent('d')]) {
      await outcome(failing(error))
    }
    expect(breaker.counts).toMatchObject({ calls: 4, failures: 3, successes: 0 })
  })

  it('counts as it is told to', async () => {
    const { outcome, breaker } = guarded({
      policy: 'none',
      counts: ({ status }) => (status === 404 ? 'success' : status === 503 ? 'failure' : 'nothing'),
    })
    for (const status of [503, 404, 500]) await outcome(failing(Object.assign(new Error('http'), { status })))
    expect(breaker.counts).toMatchObject({ calls: 3, failures: 1, successes: 1 })
    expect(breaker.state).toMatchObject({ is: 'closed', failures: 0 })
  })

  it('counts an attempt that the overall time cut off, and none that the caller did', async () => {
    const { outcome, breaker, clock } = guarded({ overall: '1s' })
    await outcome(never)
    expect(breaker.counts).toMatchObject({ calls: 1, failures: 1 })
    const stop = new AbortController()
    const ending = retry.outcome(never, { breaker, clock, signal: stop.signal })
    stop.abort()
    await ending
    expect(breaker.counts).toMatchObject({ calls: 2, failures: 1 })
  })

  it('gets the place of an aborted probe back at once', async () => {
    const { outcome, breaker, clock } = guarded()
    await outcome(failing(new Transient('down')))
    await clock.advance(30_000)
    const stop = new AbortController()
    const probing = retry.outcome(never, { breaker, clock, signal: stop.signal })
    expect(await outcome(() => 1)).toMatchObject({ outcome: 'breaker open' })
    stop.abort()
    await probing
    expect(await outcome(() => 1)).toMatchObject({ outcome: 'done' })
  })

  it('is shared: what one call learned, all know', async () => {
    const { outcome, breaker, clock } = guarded({ policy: 'none' })
    await outcome(failing(new Transient('down')))
    await retry.outcome(failing(new Transient('down')), { policy: 'none', breaker, clock })
    expect(await outcome(() => 1)).toMatchObject({ outcome: 'breaker open' })
  })
})
