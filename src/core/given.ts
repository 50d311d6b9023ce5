import { type ErrorCode, ReprieveError } from './error.ts'
import { nearest } from './nearest.ts'

/** What callers hand over, looked at before it is used: a slip is told by its name, and harms nothing. */
export interface Wanted {
  /** As in: expected a text. */
  readonly what: string
  /** How it is written. */
  readonly like: string
  readonly fits: (value: unknown) => boolean
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string'

export const text = (like: string): Wanted => ({ what: 'a text', like: `'${like}'`, fits: isText })
export const texts = (like: string): Wanted => ({
  what: 'a list of texts',
  like: `['${like}']`,
  fits: (value) => Array.isArray(value) && value.every(isText),
})
export const word = (words: readonly string[]): Wanted => ({
  what: `one of ${words.join(', ')}`,
  like: `'${words[0]}'`,
  fits: (value) => isText(value) && words.includes(value),
})
export const wordList = (words: readonly string[]): Wanted => ({
  what: `a list of ${words.join(', ')}`,
  like: `['${words[0]}']`,
  fits: (value) => Array.isArray(value) && value.every((each) => words.includes(each)),
})
export const wholeNumber = (least: number, like: number): Wanted => ({
  what: `a whole number from ${least}`,
  like: `${like}`,
  fits: (value) => Number.isSafeInteger(value) && (value as number) >= least,
})
export const INSTANT: Wanted = {
  what: 'milliseconds since 1970',
  like: "Date.parse('2026-01-31T10:00:00Z')",
  fits: Number.isFinite,
}
export const MILLIS: Wanted = {
  what: 'milliseconds',
  like: '60_000',
  fits: (value) => typeof value === 'number' && value >= 0,
}
export const FLAG: Wanted = {
  what: 'true or false',
  like: 'true',
  fits: (value) => typeof value === 'boolean',
}
export const FUNCTION: Wanted = {
  what: 'a function',
  like: '() => {}',
  fits: (value) => typeof value === 'function',
}
export const object = (like: string): Wanted => ({ what: 'an object', like, fits: isObject })
/** Looked at by whoever uses it. */
export const ANYTHING: Wanted = { what: 'anything', like: '…', fits: () => true }

export type Names = Readonly<Record<string, Wanted>>

export interface Fault {
  readonly what: string
  readonly fix: string
}

/**
 * What is wrong with an object of named values. One that is undefined counts as left out. A name that is none of these is
 * told where it looks like a slip: others may keep more in the same object. With `only` it is told whatever it is.
 */
export const faultIn = (
  given: unknown,
  names: Names,
  { only = false, called = 'options' } = {},
): Fault | undefined => {
  const [first] = Object.entries(names)
  const example = first ? `{ ${first[0]}: ${first[1].like} }` : '{}'
  if (!isObject(given))
    return { what: `found ${shown(given)} for the ${called}, expected an object`, fix: `write ${example}` }
  for (const [name, value] of Object.entries(given)) {
    const wanted = Object.hasOwn(names, name) ? names[name]! : undefined
    if (!wanted) {
      const meant = nearest(name, Object.keys(names))
      if (meant === undefined && !only) continue
      const fix = meant === undefined ? `use ${Object.keys(names).join(', ')}` : `did you mean '${meant}'?`
      return { what: `it knows no '${name}'`, fix }
    }
    if (value === undefined || wanted.fits(value)) continue
    return {
      what: `found ${shown(value)} for '${name}', expected ${wanted.what}`,
      fix: `write it like ${name}: ${wanted.like}, or leave it out`,
    }
  }
  return undefined
}

/** Throws where something is wrong with named values; left out they may be. */
export const checkNames = (
  where: string,
  given: unknown,
  names: Names,
  { code = 'bad_usage', ...how }: { code?: ErrorCode; only?: boolean; called?: string } = {},
): void => {
  const fault = given === undefined ? undefined : faultIn(given, names, how)
  if (fault) throw new ReprieveError(code, `${where}: ${fault.what}`, { fix: fault.fix })
}

/** Throws where a value that stands for itself is not what is wanted. */
export const checkGiven = (where: string, name: string, given: unknown, wanted: Wanted): void => {
  if (wanted.fits(given)) return
  throw new ReprieveError(
    'bad_usage',
    `${where}: found ${shown(given)} for ${name}, expected ${wanted.what}`,
    {
      fix: `give it like ${wanted.like}`,
    },
  )
}

const MOST_SHOWN = 60

/** Found where something else was expected; it may be large, or throw when it is looked at. */
const shown = (value: unknown): string => {
  if (typeof value === 'string') {
    const whole = JSON.stringify(value.slice(0, MOST_SHOWN))
    return value.length > MOST_SHOWN ? `${whole.slice(0, -1)}…"` : whole
  }
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${shownKind(value[0])}`
  return shownKind(value)
}

const shownKind = (value: unknown): string => {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'string') return 'texts'
  if (typeof value === 'object' && value !== null) return value instanceof Date ? 'a Date' : 'an object'
  return String(value)
}
