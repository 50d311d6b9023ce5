import type { Clock } from '../contracts/tools.ts'
import { Timeout } from '../core/errors.ts'
import type { Instant, Millis } from '../core/time.ts'
import { type Bag, createBag } from './bag.ts'

interface Watch {
  readonly at: Instant
  readonly ring: () => void
}

/** Many deadlines, one sleeper: a timer for each of thousands of attempts a second would cost more than they do. */
export interface Deadlines {
  /** Calls `ring` once the time is over, unless the answer is called before. */
  watch(ms: Millis, ring: () => void): () => void
}

export const createDeadlines = (clock: Clock): Deadlines => {
  const watches = createBag<Watch>()
  let sleeper: { readonly until: Instant; readonly wake: AbortController } | undefined
  let rising = false

  const sleep = async (until: Instant): Promise<void> => {
    const wake = new AbortController()
    sleeper = { until, wake }
    await clock.sleep(until - clock.now(), wake.signal)
    if (wake.signal.aborted) return
    sleeper = undefined
    const now = clock.now()
    for (const { at, ring } of watches.values()) if (at <= now) ring()
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

  return {
    watch: (ms, ring) => {
      const at = clock.now() + ms
      const leave = watches.add({
        at,
        ring: () => {
          leave()
          ring()
        },
      })
      if (!sleeper) {
        if (!rising) void rise()
      } else if (at < sleeper.until) {
        sleeper.wake.abort()
        void sleep(at)
      }
      return () => {
        leave()
        // an idle process must be able to end: no sleeper without a watch
        if (watches.size === 0 && sleeper) {
          sleeper.wake.abort()
          sleeper = undefined
        }
      }
    },
  }
}

/**
 * Runs `fn` with a signal that aborts when the time is over or the outer signal does. Whoever ignores the signal
 * is left behind: the answer is the timeout, and what comes later changes nothing. What `fn` answers or throws at
 * once comes back at once.
 */
export const within = <T>(
  deadlines: Deadlines,
  ms: Millis,
  what: string,
  outer: AbortSignal | undefined,
  fn: (signal: () => AbortSignal) => Promise<T> | T,
): Promise<T> | T => {
  // a signal is made only for those who look at it
  let controller: AbortController | undefined
  let over: Error | undefined
  const signal = () => {
    controller ??= new AbortController()
    if (over) controller.abort(over)
    return controller.signal
  }
  const running = fn(signal)
  if (!isPromise(running)) return running
  return new Promise<T>((resolve, reject) => {
    const end = (reason: Error) => {
      over = reason
      controller?.abort(reason)
      release()
      reject(reason)
    }
    const abort = () =>
      end(outer?.reason instanceof Error ? outer.reason : new Timeout(`${what} was stopped`))
    const unwatch = deadlines.watch(ms, () => end(new Timeout(`${what} took longer than ${ms} ms`)))
    const unhear = outer && onAbort(outer, abort)
    const release = () => {
      unwatch()
      unhear?.()
    }
    running.then(
      (value) => {
        release()
        resolve(value)
      },
      (error) => {
        release()
        reject(error)
      },
    )
    if (outer?.aborted) abort()
  })
}

const heard = new WeakMap<AbortSignal, Bag<() => void>>()

/**
 * One listener on each signal, however many attempts hear of it: a listener that is removed still points at the next
 * one, and so thousands a second would keep each other, and their events, from being collected.
 */
const onAbort = (signal: AbortSignal, act: () => void): (() => void) => {
  let acts = heard.get(signal)
  if (!acts) {
    const all = createBag<() => void>()
    signal.addEventListener('abort', () => all.values().forEach((each) => void each()), { once: true })
    heard.set(signal, all)
    acts = all
  }
  return acts.add(act)
}

const isPromise = <T>(value: Promise<T> | T): value is Promise<T> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
