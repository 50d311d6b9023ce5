import { ReprieveError } from './error.ts'
import { isRaw, sameJson } from './json-exact.ts'
import { ANY, readPath, type Step } from './where.ts'

/** Where something stands in a document: names and numbers, with nothing open. */
export type Place = readonly (string | number)[]

/** Throws `bad_usage`, with the place of the mistake. */
export const pathOf = (text: string): readonly Step[] => {
  const read = readPath(text)
  if (!('why' in read)) return read
  throw new ReprieveError(
    'bad_usage',
    `the path can't be read: ${read.why}\n  ${text}\n  ${' '.repeat(read.at)}^`,
    { fix: 'write it like $.order.total, $.lines[0].sku, $.lines[*].sku or $["odd name"]' },
  )
}

/** All that a path leads to in this document. */
export const placesOf = (path: readonly Step[], document: unknown): readonly Place[] => {
  let found: readonly { readonly place: Place; readonly value: unknown }[] = [{ place: [], value: document }]
  for (const step of path) {
    found = found.flatMap(({ place, value }) =>
      stepsFrom(value, step).map((name) => ({
        place: [...place, name],
        value: (value as Record<string | number, unknown>)[name],
      })),
    )
  }
  return found.map(({ place }) => place)
}

const stepsFrom = (value: unknown, step: Step): readonly (string | number)[] => {
  if (typeof value !== 'object' || value === null || isRaw(value)) return []
  if (step === ANY) return Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  if (Array.isArray(value)) return typeof step === 'number' && step < value.length ? [step] : []
  return Object.hasOwn(value, String(step)) ? [String(step)] : []
}

const PLAIN = /^[\p{L}\p{N}_-]+$/u

export const showPlace = (place: readonly Step[]): string =>
  `$${place
    .map((step) => {
      if (step === ANY) return '[*]'
      if (typeof step === 'number') return `[${step}]`
      return PLAIN.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
    })
    .join('')}`

export interface Difference {
  /** `$.order.total`, or `headers.x-tenant`. */
  readonly path: string
  /** As JSON; absent: it was not there, or is not any more. */
  readonly before?: string
  readonly after?: string
}

const MOST = 1000

/** What differs, place by place, at most a thousand of them. */
export const differences = (before: unknown, after: unknown): readonly Difference[] => {
  const found: Difference[] = []
  const look = (place: Place, a: unknown, b: unknown): void => {
    if (found.length >= MOST || sameJson(a, b)) return
    if (isRecord(a) && isRecord(b)) {
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
        look([...place, name], own(a, name), own(b, name))
    } else if (Array.isArray(a) && Array.isArray(b)) {
      for (let i = 0; i < Math.max(a.length, b.length); i++) look([...place, i], a[i], b[i])
    } else {
      found.push({
        path: showPlace(place),
        ...(a !== undefined && { before: JSON.stringify(a) }),
        ...(b !== undefined && { after: JSON.stringify(b) }),
      })
    }
  }
  look([], before, after)
  return found
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRaw(value)

const own = (value: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined
