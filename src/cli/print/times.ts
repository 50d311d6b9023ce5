import { type Instant, iso } from '../../core/time.ts'

/** What a field is called that holds a moment. Spans of time are called otherwise: `took`, `delay`, `retryIn`, `window`. */
const NAME = /^(at|since|until|from|to|due|expires|oldest|times)$|(At|Since|Until)$/

/** What others wrote stands as they wrote it: payloads, what a handler logs, what a repair asked for, what an entry's hash covers. */
const THEIRS: ReadonlySet<string> = new Set([
  ...['originalMessage', 'data', 'headers', 'extensions', 'fields', 'change', 'differences', 'details'],
])

/** Counts and spans stay below what any moment of this century is; a Date takes no more than the last. */
const FIRST: Instant = 1e11
const LAST: Instant = 8.64e15

export const isTimeName = (name: string): boolean => NAME.test(name)

/** The library tells moments in milliseconds; answers to programs have them in ISO 8601, in UTC, wherever they stand. */
export const withTimes = (value: unknown, name = ''): unknown => {
  if (typeof value === 'number')
    return isTimeName(name) && value >= FIRST && value <= LAST ? iso(value) : value
  if (Array.isArray(value)) return value.map((each) => withTimes(each, name))
  if (value === null || typeof value !== 'object' || 'toJSON' in value) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, THEIRS.has(key) ? each : withTimes(each, key)]),
  )
}
