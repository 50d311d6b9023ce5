import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'

/** Given as reason of an abort: without one a DOMException with its stack is made each time. */
const OVER = 'over'

/** The work's own result, or `late()` thrown where it takes longer than `ms`. */
export const within = async <T>(
  clock: Clock,
  ms: Millis,
  work: Promise<T>,
  late: () => Error,
): Promise<T> => {
  const done = new AbortController()
  // the work's end wakes it too: then nobody listens any more
  const alarm = clock.sleep(ms, done.signal).then(() => {
    if (!done.signal.aborted) throw late()
  })
  alarm.catch(() => {}) // heard in the race below, if at all
  try {
    return (await Promise.race([work, alarm])) as T
  } finally {
    done.abort(OVER)
  }
}
