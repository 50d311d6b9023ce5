import { ReprieveError } from './error.ts'
import { parseDeep } from './json-deep.ts'

/**
 * Conditions on a JSON payload, in a small language without anything that could run:
 *
 *   where      condition { 'and' condition }
 *   condition  path ( '=' | '!=' | '<' | '<=' | '>' | '>=' | '~' ) literal  |  path 'exists'
 *   path       '$' { '.name' | '["any name"]' | '[0]' | '[*]' }
 *   literal    a number, "text", 'text', true, false, null
 *
 * `~` means: contains, whatever the case. `[*]` is any of the elements. What is not there fits nothing, and a number is
 * never compared with a text.
 */
export interface Condition {
  readonly path: readonly Step[]
  readonly is: Operator
  readonly value: Literal
}

export type Step = string | number | typeof ANY
type Literal = string | number | bigint | boolean | null
type Operator = (typeof OPERATORS)[number] | 'exists'

export const ANY = Symbol('any')
const OPERATORS = ['==', '!=', '<=', '>=', '=', '<', '>', '~'] as const
const MOST_LENGTH = 2000

export const readWhere = (text: string): readonly Condition[] => {
  if (text.length > MOST_LENGTH) refuse(text.slice(0, 40), 0, `it is longer than ${MOST_LENGTH} characters`)
  const reader = { text, at: 0 }
  const conditions: Condition[] = []
  do conditions.push(condition(reader))
  while (took(reader, /and\b/iy))
  space(reader)
  if (reader.at < text.length) refuse(text, reader.at, "only 'and' and another condition can follow here")
  return conditions
}

/** A path alone, such as `$.lines[*].sku`; or why it is none, with the place. */
export const readPath = (text: string): readonly Step[] | { readonly why: string; readonly at: number } => {
  if (text.length > MOST_LENGTH) return { why: `it is longer than ${MOST_LENGTH} characters`, at: 0 }
  const reader = { text, at: 0 }
  try {
    const path = pathAt(reader)
    return reader.at < text.length ? { why: 'a path ends before this', at: reader.at } : path
  } catch (error) {
    const why = (error as Error).message.split('\n')[0]!.replace("the filter can't be read: ", '')
    return { why, at: reader.at }
  }
}

interface Reader {
  readonly text: string
  at: number
}

const condition = (reader: Reader): Condition => {
  const path = pathAt(reader)
  if (took(reader, /exists\b/iy)) return { path, is: 'exists', value: null }
  const is = took(reader, /==|!=|<=|>=|[=<>~]/y) as Operator | undefined
  if (!is)
    return refuse(reader.text, reader.at, "an operator is missing: one of = != < <= > >= ~, or 'exists'")
  return { path, is, value: literalAt(reader, is) }
}

const pathAt = (reader: Reader): readonly Step[] => {
  if (!took(reader, /\$/y)) {
    return refuse(reader.text, reader.at, "a path is missing: it begins with $, like '$.order.total'")
  }
  const path: Step[] = []
  for (;;) {
    const step = reader.text[reader.at]
    if (step === '.') path.push(nameAt(reader))
    else if (step === '[') path.push(indexAt(reader))
    else return path
  }
}

const nameAt = (reader: Reader): string => {
  const name = next(reader, /\.([\p{L}\p{N}_-]+)/uy)
  return name ?? refuse(reader.text, reader.at + 1, 'a name is missing after the dot; odd names go in ["…"]')
}

const indexAt = (reader: Reader): Step => {
  if (next(reader, /\[(\*)\]/y)) return ANY
  const index = next(reader, /\[(\d{1,9})\]/y)
  if (index !== undefined) return Number(index)
  const begun = reader.at
  reader.at++
  const name = textAt(reader)
  if (name === undefined || next(reader, /(\])/y) === undefined) {
    return refuse(reader.text, begun, 'a bracket holds a number, * or a "name", and is closed')
  }
  return name
}

const literalAt = (reader: Reader, is: Operator): Literal => {
  space(reader)
  const begun = reader.at
  const text = textAt(reader)
  if (text !== undefined) return text
  const number = next(reader, /(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y)
  if (number !== undefined && is !== '~') return exact(number)
  const word = next(reader, /(true|false|null)\b/y)
  if (word !== undefined && (is === '=' || is === '==' || is === '!=')) return JSON.parse(word)
  if (is === '~') return refuse(reader.text, begun, 'a text in quotes must follow ~')
  if (word !== undefined) return refuse(reader.text, begun, `${word} can only be compared by = and !=`)
  return refuse(reader.text, begun, 'a value is missing: a number, a text in quotes, true, false or null')
}

/** In double or single quotes; a backslash takes the next character as it is. */
const textAt = (reader: Reader): string | undefined => {
  const double = next(reader, /"((?:[^"\\]|\\.)*)"/y)
  const inside = double ?? next(reader, /'((?:[^'\\]|\\.)*)'/y)
  if (inside !== undefined) return inside.replace(/\\(.)/g, '$1')
  const quote = reader.text[reader.at]
  if (quote === '"' || quote === "'") refuse(reader.text, reader.at, 'this quote is never closed')
  return undefined
}

const space = (reader: Reader): void => void next(reader, /(\s+)/y)

/** What stands here after space, taken. */
const took = (reader: Reader, pattern: RegExp): string | undefined => {
  space(reader)
  pattern.lastIndex = reader.at
  const [all] = pattern.exec(reader.text) ?? []
  if (all !== undefined) reader.at += all.length
  return all
}

/** The first group of what stands right here, taken. */
const next = (reader: Reader, pattern: RegExp): string | undefined => {
  pattern.lastIndex = reader.at
  const found = pattern.exec(reader.text)
  if (!found) return undefined
  reader.at += found[0].length
  return found[1]
}

const refuse = (text: string, at: number, why: string): never => {
  throw new ReprieveError('bad_filter', `the filter can't be read: ${why}\n  ${text}\n  ${' '.repeat(at)}^`, {
    fix: 'write it like $.order.total > 100 and $.owner = "ann"',
  })
}

export const holds = ({ path, is, value }: Condition, data: unknown): boolean =>
  reached(path, data).some((found) => is === 'exists' || compare(found, is, value))

const reached = (path: readonly Step[], data: unknown): readonly unknown[] =>
  path.reduce<readonly unknown[]>((from, step) => from.flatMap((each) => children(each, step)), [data])

const children = (from: unknown, step: Step): readonly unknown[] => {
  if (typeof from !== 'object' || from === null) return []
  if (step === ANY) return Array.isArray(from) ? from : Object.values(from)
  if (Array.isArray(from)) return typeof step === 'number' && step < from.length ? [from[step]] : []
  return Object.hasOwn(from, String(step)) ? [(from as Record<string, unknown>)[String(step)]] : []
}

const compare = (found: unknown, is: Operator, value: Literal): boolean => {
  if (is === '~')
    return typeof found === 'string' && found.toLowerCase().includes(String(value).toLowerCase())
  const alike = kindOf(found) === kindOf(value)
  if (is === '!=') return !alike || differs(found, value)
  if (!alike) return false
  if (is === '=' || is === '==') return !differs(found, value)
  const [a, b] = [found as number, value as number]
  return is === '<' ? a < b : is === '<=' ? a <= b : is === '>' ? a > b : a >= b
}

/** Numbers that no double can hold are whole ones of many digits: those are compared as they were written. */
const differs = (a: unknown, b: unknown): boolean =>
  typeof a === typeof b ? a !== b : (a as number) < (b as number) || (a as number) > (b as number)

const kindOf = (value: unknown): string =>
  value === null ? 'null' : typeof value === 'bigint' ? 'number' : typeof value

const exact = (source: string): number | bigint => {
  const value = Number(source)
  return /^-?\d+$/.test(source) && !Number.isSafeInteger(value) ? BigInt(source) : value
}

/** undefined: it is no JSON. */
export const readJson = (text: string): { readonly value: unknown } | undefined => {
  try {
    return {
      value: JSON.parse(text, (_, value, context?: { source?: string }) =>
        typeof value === 'number' ? exact(context?.source ?? String(value)) : value,
      ),
    }
  } catch (error) {
    return error instanceof RangeError && isJson(text) ? { value: parseDeep(text, exact) } : undefined
  }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
