import { ReprieveError } from '../core/error.ts'
import type { Millis } from '../core/time.ts'
import { A_DURATION, readDuration } from '../rules/duration.ts'

/** Milliseconds, or as in a rule book: `500ms`, `1.5s`, `5m`. */
export type Duration = Millis | string

/** In milliseconds. `name` is the option's, for the message. */
export const millis = (name: string, value: Duration | undefined, otherwise: Millis): Millis => {
  if (value === undefined) return otherwise
  const ms = typeof value === 'string' ? readDuration(value) : value
  if (typeof ms === 'number' && ms >= 0) return ms
  throw new ReprieveError('bad_usage', `${name}: found '${value}', expected ${A_DURATION}, or milliseconds`)
}
