import type { Tools } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import { isBusy } from './trouble.ts'

/** How long another process may keep its write lock before we say so. */
const PATIENCE: Millis = 30_000
const LONGEST_PAUSE: Millis = 16

/**
 * Tries until the lock is free: a busy timeout would stop the whole event loop, a pause by the clock stops
 * nobody. The pauses are short and scattered, so that several processes take turns.
 */
export const patiently = async <T>({ clock, dice }: Tools, step: () => T): Promise<T> => {
  const since = clock.now()
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return step()
    } catch (error) {
      if (!isBusy(error) || clock.now() - since >= PATIENCE) throw error
    }
    await clock.sleep(pause * (0.5 + dice.next()))
  }
}
