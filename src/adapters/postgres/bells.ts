import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'

/** Wakes the inlets of this process that wait at a door. What other processes write is found by looking. */
export interface Bells {
  ring(doors: Iterable<number>): void
  /** Grows with each ring: whoever was not waiting yet sees that one was missed. */
  rung(door: number): number
  /** Until a ring, the end of the time, or the signal, whichever comes first. */
  wait(door: number, ms: Millis, signal: AbortSignal): Promise<void>
}

/** Given as reason of an abort: without one a DOMException with its stack is made each time. */
const RUNG = 'rung'

export const bellsOf = (clock: Clock): Bells => {
  const counts = new Map<number, number>()
  const waiting = new Map<number, Set<AbortController>>()
  return {
    ring: (doors) => {
      for (const door of doors) {
        counts.set(door, (counts.get(door) ?? 0) + 1)
        for (const nap of waiting.get(door) ?? []) nap.abort(RUNG)
      }
    },
    rung: (door) => counts.get(door) ?? 0,
    wait: async (door, ms, signal) => {
      if (signal.aborted) return
      const nap = new AbortController()
      const wake = () => nap.abort(RUNG)
      const naps = waiting.get(door) ?? new Set()
      waiting.set(door, naps.add(nap))
      signal.addEventListener('abort', wake, { once: true })
      await clock.sleep(ms, nap.signal)
      signal.removeEventListener('abort', wake)
      naps.delete(nap)
    },
  }
}
