import type { Clock } from '../contracts/tools.ts'
import { Timeout } from '../core/errors.ts'
import type { Instant, Millis } from '../core/time.ts'
import { createBag } from './bag.ts'

interface Watch {
  readonly at: Instant
  readonly stop: AbortSignal | undefined
  readonly ring: (stopped: boolean) => void
}

/** Many deadlines, one sleeper: a timer for each of thousands of attempts a second would cost more than they do. */
export interface Deadlines {
  /**
   * Calls `ring` once, when the time is over or the signal aborts, unless the answer is called before. A signal that
   * has aborted already is not heard.
   */
  watch(ms: Millis, stop: AbortSignal | undefined, ring: (stopped: boolean) => void): () => void
}

/** Nobody asks why: without a reason an error with its stack would be made each time. */
const WOKEN = 'woken'

export const createDeadlines = (clock: Clock): Deadlines => {
  const watches = createBag<Watch>()
  const heard = new WeakSet<AbortSignal>()
  let sleeper: { readonly until: Instant; readonly wake: AbortController } | undefined
  let rising = false
  let resting = false

  const sleep = async (until: Instant): Promise<void> => {
    const wake = new AbortController()
    sleeper = { until, wake }
    await clock.sleep(until - clock.now(), wake.signal)
    if (wake.signal.aborted) return
    sleeper = undefined
    const now = clock.now()
    for (const { at, ring } of watches.values()) if (at <= now) ring(false)
    if (!sleeper) sleepUntilNext()
  }

  const sleepUntilNext = (): void => {
    let next = Number.POSITIVE_INFINITY
    for (const { at } of watches.values()) next = Math.min(next, at)
    if (next < Number.POSITIVE_INFINITY) void sleep(next)
  }

  /** Most attempts end in the turn they began in: only those that outlive it need a sleeper. */
  const rise = async (): Promise<void> => {
    rising = true
    await clock.sleep(0)
    rising = false
    if (!sleeper) sleepUntilNext()
  }

  /**
   * An idle process must be able to end: no sleeper without a watch. But where one follows closely on another, as calls
   * one after the other do, they share the sleeper, which costs more than they do.
   */
  const rest = async (): Promise<void> => {
    resting = true
    await clock.sleep(0)
    resting = false
    if (watches.size > 0 || !sleeper) return
    sleeper.wake.abort(WOKEN)
    sleeper = undefined
  }

  /**
   * One listener on each signal, however many attempts hear of it: a listener that is removed still points at the
   * next one, and so thousands a second would keep each other, and their events, from being collected.
   */
  const hear = (stop: AbortSignal): void => {
    if (heard.has(stop)) return
    heard.add(stop)
    const stopAll = () => {
      for (const watch of watches.values()) if (watch.stop === stop) watch.ring(true)
    }
    stop.addEventListener('abort', stopAll, { once: true })
  }

  return {
    watch: (ms, stop, ring) => {
      const at = clock.now() + ms
      if (stop) hear(stop)
      const leave = watches.add({
        at,
        stop,
        ring: (stopped) => {
          leave()
          ring(stopped)
        },
      })
      if (!sleeper) {
        if (!rising) void rise()
      } else if (at < sleeper.until) {
        sleeper.wake.abort(WOKEN)
        void sleep(at)
      }
      return () => {
        leave()
        if (watches.size === 0 && sleeper && !resting) void rest()
      }
    },
  }
}

/**
 * Runs `fn` with a signal that aborts when the time is over or the outer signal does, and calls `done` or `failed`
 * once: at once where `fn` answers or throws at once. Whoever ignores the signal is left behind: it failed by the
 * timeout, and what comes later changes nothing.
 */
export const runWithin = <T>(
  deadlines: Deadlines,
  ms: Millis,
  what: string,
  outer: AbortSignal | undefined,
  fn: (signal: () => AbortSignal) => Promise<T> | T,
  done: (value: T) => void,
  failed: (error: unknown) => void,
): void => {
  // a signal is made only for those who look at it
  let controller: AbortController | undefined
  let over: Error | undefined
  const signal = () => {
    controller ??= new AbortController()
    if (over) controller.abort(over)
    return controller.signal
  }
  let running: Promise<T> | T
  let isOver: boolean
  try {
    running = real(fn(signal))
    isOver = !(running instanceof Promise)
  } catch (error) {
    return void failed(readable(error))
  }
  if (isOver) return void done(running as T)
  const end = (stopped: boolean) => {
    over = stopped ? reasonOf(outer, what) : new Timeout(`${what} took longer than ${ms} ms`)
    release()
    controller?.abort(over)
    failed(over)
  }
  const release = deadlines.watch(ms, outer, end)
  ;(running as Promise<T>).then(
    (value) => {
      if (over) return
      release()
      done(value)
    },
    (error) => {
      if (over) return
      release()
      failed(readable(error))
    },
  )
  if (outer?.aborted) end(true)
}

/** The same as a promise. */
export const within = <T>(
  deadlines: Deadlines,
  ms: Millis,
  what: string,
  outer: AbortSignal | undefined,
  fn: (signal: () => AbortSignal) => Promise<T> | T,
): Promise<T> => new Promise((resolve, reject) => runWithin(deadlines, ms, what, outer, fn, resolve, reject))

const reasonOf = (outer: AbortSignal | undefined, what: string): Error =>
  outer?.reason instanceof Error ? outer.reason : new Timeout(`${what} was stopped`)

/** A proxy whose traps throw can be thrown too: nobody could even ask what it is. */
const readable = (thrown: unknown): unknown => {
  try {
    void (thrown instanceof Error)
    return thrown
  } catch (error) {
    return error
  }
}

/** What only looks like a promise may throw when it is asked, or answer twice. */
const real = <T>(value: Promise<T> | T): Promise<T> | T =>
  isPromise(value) && !(value instanceof Promise) ? Promise.resolve(value) : value

const isPromise = <T>(value: Promise<T> | T): value is Promise<T> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
