import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import { within as inTime } from '../../core/within.ts'

/**
 * The work's answer, or an error after so long: the client tries again and again by itself, each time with a time
 * limit of its own, and all of them together are more than anyone should wait.
 */
export const within = <T>(ms: Millis, clock: Clock, work: () => Promise<T>): Promise<T> =>
  inTime(clock, ms, work(), () => new Error(`no answer within ${ms} ms`))
