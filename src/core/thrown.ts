import { replyOf } from './dialects.ts'
import { FAILURE, type Told } from './errors.ts'
import { CATEGORIES, type Category, KINDS, type Kind } from './failure.ts'
import { describeIssues, type Issue } from './issues.ts'
import { bounded, got, isObject, listOf, look, textOf, word } from './look.ts'
import type { Reply } from './replies.ts'
import type { Millis } from './time.ts'

/**
 * What can be seen on a thrown value, as plain bounded data. Anything can be thrown: getters may throw, causes may go
 * round in a circle, messages may be huge. All of that ends here, so that the rules can be simple.
 */
export interface Thrown {
  readonly name: string
  readonly message: string
  /** Looked at only when asked for: most failures are tried again, and to write a stack out takes long. */
  stack(): string | undefined
  /** Every code it carries, the most telling first. */
  readonly codes: readonly string[]
  readonly status?: number
  /** The header as it was sent, or milliseconds where it says so. */
  readonly retryAfter?: string | Millis
  /** Present on our typed errors. */
  readonly told?: Told
  readonly reply?: Reply
  /** It lists what a schema found. */
  readonly invalid: boolean
  readonly cause?: Thrown
  readonly errors: readonly Thrown[]
}

const MAX_STACK = 4000
const MAX_HEADLINE = 1000
const MAX_DEPTH = 8
const MAX_ERRORS = 16
const MAX_LINKS = 64

export const readThrown = (value: unknown): Thrown => read(value, 1, new Set())!

const read = (value: unknown, depth: number, seen: Set<unknown>): Thrown | undefined => {
  if (!isObject(value)) return plain(value)
  if (seen.has(value) || seen.size >= MAX_LINKS || depth > MAX_DEPTH) return undefined
  seen.add(value)
  const name = nameOf(value)
  const status = statusOf(value)
  const raw = textOf(value, 'message')
  const issues = issuesOf(value)
  const message = bounded(raw?.startsWith('[') && issues ? issues : raw || unsaid(value, name, status))
  const reply = replyOf(value, name, message)
  const retryAfter = pauseOf(value)
  const told = toldOf(value)
  const inner = look(value, 'cause')
  const cause = inner === undefined || inner === null ? undefined : read(inner, depth + 1, seen)
  return {
    name,
    message,
    codes: codesOf(value, name, reply),
    invalid: issues !== undefined,
    stack: () => stackOf(value),
    errors: listOf(look(value, 'errors'), MAX_ERRORS).flatMap((each) => read(each, depth + 1, seen) ?? []),
    ...(status !== undefined && (!reply || reply.protocol === 'AWS') && { status }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(told && { told }),
    ...(reply && { reply }),
    ...(cause && { cause }),
  }
}

const plain = (value: unknown): Thrown => ({
  name: value === null ? 'null' : typeof value,
  message: bounded(String(value) || 'an empty string was thrown'),
  stack: () => undefined,
  codes: [],
  invalid: false,
  errors: [],
})

const BLAND: ReadonlySet<string> = new Set(['Error', 'AggregateError', 'error'])

/** `class NoStock extends Error {}` leaves its name as 'Error': then the class's own name says more. */
const nameOf = (value: object): string => {
  const name = textOf(value, 'name')
  if (name && !BLAND.has(name)) return word(name)
  const own = textOf(look(value, 'constructor'), 'name')
  return word(own && own.length > 2 ? own : name || 'object')
}

const unsaid = (value: object, name: string, status: number | undefined): string => {
  if (status !== undefined) return `HTTP ${status} ${textOf(value, 'statusText') ?? ''}`.trim()
  return textOf(value, 'description') || `${name} without a message`
}

const statusOf = (value: object): number | undefined => {
  for (const holder of [value, look(value, 'response'), look(value, '$metadata')]) {
    if (!isObject(holder)) continue
    for (const key of ['status', 'statusCode', 'httpStatusCode']) {
      const status = look(holder, key)
      if (typeof status === 'number' && Number.isInteger(status) && status >= 100 && status < 600)
        return status
    }
  }
  return undefined
}

// Azure's two and gRPC's: more exact than whole seconds, so they come first
const IN_MILLIS = ['retry-after-ms', 'x-ms-retry-after-ms', 'grpc-retry-pushback-ms']
const NUMBER = /^\d{1,12}$/

const pauseOf = (value: object): string | Millis | undefined => {
  const holders = [value, look(value, 'response'), look(value, '$response')]
  const headers = [...holders.map((holder) => look(holder, 'headers')), look(value, 'metadata')]
  for (const each of headers) {
    if (!isObject(each)) continue
    const millis = IN_MILLIS.map((name) => headerOf(each, name)).find((text) => text && NUMBER.test(text))
    if (millis !== undefined) return Number(millis)
    const text = headerOf(each, 'retry-after') ?? headerOf(each, 'Retry-After')
    if (text !== undefined) return text
  }
  return undefined
}

const headerOf = (headers: unknown, name: string): string | undefined => {
  const text = got(headers, name) ?? look(headers, name)
  const first = isObject(text) ? look(text, 0) : text
  return typeof first === 'string' || typeof first === 'number' ? word(String(first)) : undefined
}

const codesOf = (value: object, name: string, reply: Reply | undefined): readonly string[] => {
  const code = look(value, 'code')
  // A DOMException's number (20, 23) is a relic of its name.
  const relic = typeof code === 'number' && (name === 'AbortError' || name === 'TimeoutError')
  const others = ['originalCode', 'Code', 'errcode', 'condition'].map((key) => look(value, key))
  const all = [reply?.code, ...others, relic ? undefined : code]
    .filter((each) => (typeof each === 'string' && each !== '') || Number.isFinite(each))
    .map((each) => word(String(each)))
  return [...new Set(all)]
}

const issuesOf = (value: object): string | undefined => {
  const issues = listOf(look(value, 'issues'), MAX_ERRORS)
  if (typeof look(issues[0], 'message') !== 'string') return undefined
  try {
    return describeIssues(issues as Issue[])
  } catch {
    return 'does not fit its schema'
  }
}

/** Checked, since another version of this package may have written it. */
const toldOf = (value: object): Told | undefined => {
  const told = look(value, FAILURE)
  const category = look(told, 'category') as Category
  const kind = look(told, 'kind') as Kind
  const retryAfter = look(told, 'retryAfter')
  if (!CATEGORIES.includes(category)) return undefined
  return {
    category,
    kind: KINDS.includes(kind) ? kind : 'handler',
    ...(typeof retryAfter === 'number' && retryAfter >= 0 && retryAfter < Infinity && { retryAfter }),
  }
}

/** A long message at its head must not push the frames out. */
export const stackOf = (value: object): string | undefined => {
  const stack = textOf(value, 'stack')
  if (!stack) return undefined
  const frames = stack.indexOf('\n    at ')
  if (frames < 0) return bounded(stack, MAX_STACK)
  return bounded(bounded(stack.slice(0, frames), MAX_HEADLINE) + stack.slice(frames), MAX_STACK)
}
