/**
 * Touching values that nobody vouches for. Whatever they do when they are touched stays in here, and what comes
 * out is short enough to keep.
 */

export const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

/** Reads one property; one that can't be read is absent. */
export const look = (value: unknown, key: PropertyKey): unknown => {
  try {
    return isObject(value) ? (value as Record<PropertyKey, unknown>)[key] : undefined
  } catch {
    return undefined
  }
}

export const textOf = (value: unknown, key: PropertyKey): string | undefined => {
  const text = look(value, key)
  return typeof text === 'string' ? text : undefined
}

export const listOf = (value: unknown, most: number): unknown[] => {
  const length = look(value, 'length')
  if (typeof length !== 'number') return []
  return Array.from({ length: Math.min(length, most) }, (_, index) => look(value, index))
}

/** What `value.get(key)` answers, on a Headers or a Map. */
export const got = (value: unknown, key: string): unknown => {
  try {
    const get = look(value, 'get')
    return typeof get === 'function' ? get.call(value, key) : undefined
  } catch {
    return undefined
  }
}

const MAX_WORD = 100

export const word = (text: string): string => bounded(text, MAX_WORD)

const MAX_MESSAGE = 2000
const PASSWORD = /(\/\/[^\s/:@]{0,200}):[^\s/]{1,1000}@/g
const PASSWORD_MARGIN = 1300
/** Without any of these there is nothing to hide and nothing to mend. */
const UNUSUAL = /[@\0\ud800-\udfff]/

/** Cut, storable anywhere, and free of passwords in URLs; these go first, lest the cut hide the '@'. */
export const bounded = (text: string, most = MAX_MESSAGE): string => {
  if (text.length <= most && !UNUSUAL.test(text)) return text
  const safe = text
    .slice(0, most + PASSWORD_MARGIN)
    .replace(PASSWORD, '$1:***@')
    .replaceAll('\0', '\ufffd')
  return (safe.length > most ? `${safe.slice(0, most - 1)}…` : safe).toWellFormed()
}
