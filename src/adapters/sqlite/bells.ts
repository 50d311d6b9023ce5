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

interface Bell {
  rung: number
  readonly waiting: Set<AbortController>
}

export const bellsOf = (clock: Clock): Bells => {
  const bells = new Map<number, Bell>()
  const at = (door: number): Bell => {
    const known = bells.get(door)
    if (known) return known
    const bell = { rung: 0, waiting: new Set<AbortController>() }
    bells.set(door, bell)
    return bell
  }
  return {
    ring: (doors) => {
      for (const door of doors) {
        const bell = at(door)
        bell.rung++
        for (const nap of bell.waiting) nap.abort()
      }
    },
    rung: (door) => at(door).rung,
    wait: async (door, ms, signal) => {
      if (signal.aborted) return
      const { waiting } = at(door)
      const nap = new AbortController()
      const wake = () => nap.abort()
      waiting.add(nap)
      signal.addEventListener('abort', wake, { once: true })
      await clock.sleep(ms, nap.signal)
      signal.removeEventListener('abort', wake)
      waiting.delete(nap)
    },
  }
}
