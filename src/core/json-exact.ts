/**
 * JSON in which every number stays as it was written: an id of twenty digits must not be rounded because something else
 * was repaired. Numbers that no double holds exactly are raw JSON, which `JSON.stringify` writes as it stands.
 */
interface RawJson {
  rawJSON(text: string): object
  isRawJSON(value: unknown): value is { readonly rawJSON: string }
}
const { rawJSON, isRawJSON } = JSON as unknown as RawJson

/** undefined: it is no JSON. */
export const parseExact = (text: string): { readonly value: unknown } | undefined => {
  try {
    return {
      value: JSON.parse(text, (_, value, context?: { source?: string }) => {
        const source = context?.source
        if (typeof value !== 'number' || source === undefined) return value
        return String(value) === source ? value : rawJSON(source)
      }),
    }
  } catch {
    return undefined
  }
}

export const isRaw = isRawJSON

/** Equal as JSON: names in any order, numbers by what they are worth. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (isRawJSON(a) || isRawJSON(b) || typeof a === 'number' || typeof b === 'number') return sameNumber(a, b)
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((each, i) => sameJson(each, b[i]))
  }
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every(
    (name) => Object.hasOwn(b, name) && sameJson(a[name as keyof object], b[name as keyof object]),
  )
}

const sameNumber = (a: unknown, b: unknown): boolean => {
  const [x, y] = [a, b].map((each) =>
    isRawJSON(each) ? each.rawJSON : typeof each === 'number' ? String(each) : undefined,
  )
  if (x === undefined || y === undefined) return false
  if (x === y) return true
  // 1.0 is 1; two different long ones that round to the same are not
  return Number(x) === Number(y) && (Number.isSafeInteger(Number(x)) || !/^-?\d+$/.test(x + y))
}
