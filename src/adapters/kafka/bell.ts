import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'

/** Wakes whoever waits for a change; they look for themselves what has changed. */
export interface Bell {
  ring(): void
  /** How often it has rung: what to give to `wait` by whoever looks for longer than a moment. */
  readonly rung: number
  /** Until it rings, `ms` have passed, or the signal aborts; not at all where it has rung since `heard`. */
  wait(ms?: Millis, signal?: AbortSignal, heard?: number): Promise<void>
}

/** A reason of our own: without one each abort makes an error with a stack. */
const RUNG = 'rung'

export const bell = (clock: Clock): Bell => {
  let waiting: (() => void)[] = []
  let rung = 0
  return {
    get rung() {
      return rung
    },
    ring: () => {
      rung++
      const woken = waiting
      waiting = []
      for (const wake of woken) wake()
    },
    wait: (ms, signal, heard = rung) =>
      new Promise((resolve) => {
        if (signal?.aborted || heard !== rung) return resolve()
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
