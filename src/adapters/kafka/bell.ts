import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'

/** Wakes whoever waits for a change; they look for themselves what has changed. */
export interface Bell {
  ring(): void
  /** Until it rings, `ms` have passed, or the signal aborts. */
  wait(ms?: Millis, signal?: AbortSignal): Promise<void>
}

/** A reason of our own: without one each abort makes an error with a stack. */
const RUNG = 'rung'

export const bell = (clock: Clock): Bell => {
  let waiting: (() => void)[] = []
  return {
    ring: () => {
      const woken = waiting
      waiting = []
      for (const wake of woken) wake()
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const timer = ms === undefined || ms === Number.POSITIVE_INFINITY ? undefined : new AbortController()
        const end = () => {
          waiting = waiting.filter((each) => each !== end)
          signal?.removeEventListener('abort', end)
          timer?.abort(RUNG)
          resolve()
        }
        waiting.push(end)
        signal?.addEventListener('abort', end, { once: true })
        if (timer) void clock.sleep(ms!, timer.signal).then(end)
      }),
  }
}
