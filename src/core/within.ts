import type { Millis } from './time.ts'

/** What can wait, be it a clock on the wall or a virtual one; its `sleep` ends at once where the signal aborts. */
interface Sleeper {
  sleep(ms: Millis, signal?: AbortSignal): Promise<void>
}

/** Given as reason of an abort: without one a DOMException with its stack is made each time. */
const OVER = 'over'

/** The work's own result, or `late()` thrown where it takes longer than `ms`. */
export const within = async <T>(
  clock: Sleeper,
  ms: Millis,
  work: Promise<T>,
  late: () => Error,
): Promise<T> => {
  const done = new AbortController()
  // the work's end wakes it too: then nobody listens any more
  const alarm = clock.sleep(ms, done.signal).then(() => {
    if (!done.signal.aborted) throw late()
  })
  try {
    return (await Promise.race([work, alarm])) as T
  } finally {
    done.abort(OVER)
  }
}
