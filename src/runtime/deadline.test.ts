import { describe, expect, it } from 'vitest'
import { Timeout } from '../core/errors.ts'
import { virtualClock } from '../testing/clock.ts'
import { createDeadlines, runWithin, within } from './deadline.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

const stage = () => {
  const clock = virtualClock()
  const deadlines = createDeadlines(clock)
  const stop = new AbortController()
  const begin = (ms: number) => {
    const work = Promise.withResolvers<string>()
    let signal: AbortSignal | undefined
    const answer = within(deadlines, ms, 'the work', stop.signal, (own) => {
      signal = own()
      return work.promise
    }) as Promise<string>
    answer.catch(() => {})
    return { work, answer, signal: () => signal! }
  }
  return { clock, deadlines, stop, begin }
}

describe('deadlines', () => {
  it('let through what ends in time', async () => {
    const { clock, begin } = stage()
    const { work, answer, signal } = begin(100)
    await clock.advance(99)
    work.resolve('fine')
    expect(await answer).toBe('fine')
    await clock.advance(1000)
    expect(signal().aborted).toBe(false)
  })

  it('end what takes too long, and tell it', async () => {
    const { clock, begin } = stage()
    const { work, answer, signal } = begin(100)
    await clock.advance(100)
    await expect(answer).rejects.toThrow('the work took longer than 100 ms')
    expect(signal().reason).toBeInstanceOf(Timeout)
    work.resolve('too late')
    await expect(answer).rejects.toThrow(Timeout)
  })

  it('keep each its own time, whatever the order they began in', async () => {
    const { clock, begin } = stage()
    const long = begin(300)
    await turn()
    const short = begin(50)
    const middle = begin(200)
    await clock.advance(50)
    await expect(short.answer).rejects.toThrow(Timeout)
    await clock.advance(150)
    await expect(middle.answer).rejects.toThrow(Timeout)
    long.work.resolve('in time')
    expect(await long.answer).toBe('in time')
  })

  it('stop all that hear the same signal, and no one who has ended', async () => {
    const { stop, begin } = stage()
    const ended = begin(100)
    const [one, other] = [begin(100), begin(100)]
    ended.work.resolve('fine')
    await ended.answer
    stop.abort(new Error('enough'))
    await expect(one.answer).rejects.toThrow('enough')
    await expect(other.answer).rejects.toThrow('enough')
    expect(ended.signal().aborted).toBe(false)
    expect(one.signal().reason).toEqual(new Error('enough'))
  })

  it('stop at once what begins after the signal', async () => {
    const { stop, begin } = stage()
    stop.abort()
    await expect(begin(100).answer).rejects.toThrow()
  })

  it('let nothing sleep once nobody is watched', async () => {
    const { clock, begin } = stage()
    const { work, answer } = begin(60_000)
    await turn()
    expect(clock.sleepers).toBe(1)
    work.resolve('fine')
    await answer
    await turn()
    expect(clock.sleepers).toBe(0)
  })

  it('answer at once for what answers or throws at once', () => {
    const { deadlines } = stage()
    const heard: unknown[] = []
    const run = (fn: () => string) =>
      runWithin(
        deadlines,
        100,
        'the work',
        undefined,
        fn,
        (value) => heard.push(value),
        (error) => heard.push(error),
      )
    const no = new Error('no')
    run(() => 'at once')
    run(() => {
      throw no
    })
    expect(heard).toEqual(['at once', no])
  })

  it('take what only looks like a promise for one: it may throw when it is asked, or answer twice', async () => {
    const { deadlines } = stage()
    const no = new Error('no')
    const answers = async (
      then: (resolve: (value: string) => void, reject: (error: Error) => void) => void,
    ) => {
      const heard: unknown[] = []
      const hear = (value: unknown) => void heard.push(value)
      runWithin(deadlines, 100, 'the work', undefined, () => ({ then }) as never, hear, hear)
      await turn()
      return heard
    }
    const throwing = () => {
      throw no
    }
    expect(await answers(throwing)).toEqual([no])
    expect(await answers((resolve) => resolve('fine'))).toEqual(['fine'])
    const twice = (resolve: (value: string) => void, reject: (error: Error) => void) => {
      resolve('first')
      reject(no)
    }
    expect(await answers(twice)).toEqual(['first'])
    const heard: unknown[] = []
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const hear = (value: unknown) => void heard.push(value)
    runWithin(deadlines, 100, 'the work', undefined, () => proxy, hear, hear)
    expect(heard).toEqual([expect.any(TypeError)])
  })
})
