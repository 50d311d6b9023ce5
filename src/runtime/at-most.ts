import type { Clock } from '../contracts/tools.ts'
import type { Millis } from '../core/time.ts'

/** Waits for work, and no longer than so long; what it answers is nobody's concern. */
export const atMost = async (
  clock: Clock,
  most: Millis,
  work: Promise<unknown> | undefined,
): Promise<void> => {
  if (!work) return
  const over = new AbortController()
  try {
    await Promise.race([work, clock.sleep(most, over.signal)])
  } finally {
    over.abort()
  }
}
