import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'

/**
 * The work's answer, or an error after so long: the client tries again and again by itself, each time with a time
 * limit of its own, and all of them together are more than anyone should wait.
 */
export const within = async <T>(ms: Millis, clock: Clock, work: () => Promise<T>): Promise<T> => {
  const done = new AbortController()
  const late = clock.sleep(ms, done.signal).then((): T => {
    throw new Error(`no answer within ${ms} ms`)
  })
  late.catch(() => {}) // one of the two comes second, and nobody waits for it any more
  const working = work()
  working.catch(() => {}) // as above
  try {
    return await Promise.race([working, late])
  } finally {
    done.abort('answered') // without a reason an error with its stack would be made each time
  }
}
