import { fromCode, fromName, fromOurs, fromText } from './codes.ts'
import { toldWhole } from './errors.ts'
import type { Category, Failure } from './failure.ts'
import { type Finding, finding } from './finding.ts'
import { fromStatus, parseRetryAfter } from './http.ts'
import { bounded } from './look.ts'
import { fromReply } from './replies.ts'
import { readThrown, stackOf, type Thrown } from './thrown.ts'
import type { Instant } from './time.ts'

/** A rule's own word on errors that the tree would judge otherwise. All that `match` names must hold. */
export interface Override {
  readonly match: Match
  readonly category: Category
  readonly reason: string
}

export interface Match {
  readonly code?: string | undefined
  readonly name?: string | undefined
  readonly status?: number | undefined
  /** A part of the message; `*` stands for anything between two parts. */
  readonly message?: string | undefined
}

/**
 * Makes a failure of whatever was thrown; it never throws itself. In this order:
 *
 *   1. an override of the rules
 *   2. what our typed errors say, also as the cause of another error
 *   3. the tree: replies of brokers, databases, clouds and gRPC; HTTP status; timeouts; schema errors; connection errors
 *   4. unknown
 *
 * In 3 the outermost error that tells something decides, and what was thrown with it is looked at only if it tells nothing.
 * `now` is needed to understand a Retry-After that is a date.
 */
export const classify = (error: unknown, overrides: readonly Override[] = [], now?: Instant): Failure => {
  const told = overrides.length === 0 ? toldWhole(error) : undefined
  if (told) return new Told(error as Error, told)
  const thrown = readThrown(error)
  const failure = compose(thrown, find(thrown, now))
  const override = overrides.find(({ match }) => suits(match, failure, thrown))
  return override ? overrule(failure, override) : failure
}

/**
 * Of a typed error that tells all. A class, so that all of them have one shape: with a getter of its own each would have
 * another, which the engine keeps until its next full collection.
 */
class Told implements Failure {
  static readonly #stack: PropertyDescriptor & ThisType<Told> = {
    enumerable: true,
    get() {
      this.#looked ??= { stack: stackOf(this.#error) }
      return this.#looked.stack
    },
  }
  readonly category: Failure['category']
  readonly kind: Failure['kind']
  readonly name: string
  readonly message: string
  readonly because: string
  declare readonly stack: string | undefined
  readonly #error: Error
  #looked: { readonly stack: string | undefined } | undefined

  constructor(error: Error, { category, kind }: Pick<Failure, 'category' | 'kind'>) {
    this.category = category
    this.kind = kind
    this.name = error.name
    this.message = bounded(error.message)
    this.because = `it was thrown as ${error.name}`
    this.#error = error
    Object.defineProperty(this, 'stack', Told.#stack)
  }
}

interface Found {
  readonly finding: Finding
  readonly by: Thrown
}

const NOTHING: Finding = {
  category: 'unknown',
  kind: 'handler',
  because: 'nothing is known of such an error',
}

const find = (thrown: Thrown, now: Instant | undefined): Found => {
  const causes = causesOf(thrown)
  const typed = causes.find((link) => link.told)
  if (typed) return { finding: fromTold(typed, now), by: typed }
  return judge(thrown, now) ?? { finding: NOTHING, by: causes.at(-1)! }
}

const causesOf = (thrown: Thrown): Thrown[] => {
  const links = [thrown]
  for (let next = thrown.cause; next; next = next.cause) links.push(next)
  return links
}

const judge = (link: Thrown, now: Instant | undefined): Found | undefined => {
  const own = ownFinding(link, now)
  if (own && !own.weak) return { finding: own, by: link }
  return below(link, now) ?? (own && { finding: own, by: link })
}

const HOPE: readonly Category[] = ['rate-limited', 'transient', 'unknown', 'permanent']

/** Of several errors the most hopeful counts: limits end a vain retry, but nothing brings back an early burial. */
const below = (link: Thrown, now: Instant | undefined): Found | undefined => {
  const inner = link.cause && judge(link.cause, now)
  if (inner) return inner
  const [best] = link.errors
    .map((each): Found => judge(each, now) ?? { finding: NOTHING, by: each })
    .sort((a, b) => HOPE.indexOf(a.finding.category) - HOPE.indexOf(b.finding.category))
  return best?.finding === NOTHING ? undefined : best
}

const ownFinding = (link: Thrown, now: Instant | undefined): Finding | undefined => {
  if (link.told) return fromTold(link, now)
  const found = fromTree(link)
  if (!found || found.category === 'permanent') return found
  return { ...found, retryAfter: parseRetryAfter(link.retryAfter, now) }
}

const fromTree = (link: Thrown): Finding | undefined => {
  if (link.name === 'TimeoutError') return fromName(link.name) // before Kafka's code for it, 'network'
  if (link.name === 'ReprieveError') return fromOurs(link.codes[0])
  return (
    (link.reply && fromReply(link.reply)) ??
    (link.status === undefined ? undefined : fromStatus(link.status)) ??
    (link.invalid ? finding('what a schema rejects', 'permanent', 'schema') : undefined) ??
    fromName(link.name) ??
    first(link.codes, (code) => fromCode(code, link.message)) ??
    fromText(link.message)
  )
}

/** Who wraps a 429 in `RateLimited` need not copy its Retry-After. */
const fromTold = (link: Thrown, now: Instant | undefined): Finding => {
  const told = { ...link.told!, because: `it was thrown as ${link.name}` }
  if (told.retryAfter !== undefined || told.category === 'permanent') return told
  return { ...told, retryAfter: first(causesOf(link), (each) => parseRetryAfter(each.retryAfter, now)) }
}

const first = <T, R>(items: readonly T[], fn: (item: T) => R | undefined): R | undefined => {
  for (const item of items) {
    const result = fn(item)
    if (result !== undefined) return result
  }
  return undefined
}

const compose = (thrown: Thrown, { finding, by }: Found): Failure => {
  const causes = causesOf(thrown)
  const code = by.codes[0] ?? first(causes, (link) => link.codes[0])
  const status = by.status ?? first(causes, (link) => link.status)
  let stack: { readonly is: string | undefined } | undefined
  const { category, kind, because, retryAfter } = finding
  return {
    category,
    kind,
    name: thrown.name,
    message: withCause(thrown.message, (by === thrown ? causes[1] : by)?.message),
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    get stack() {
      stack ??= { is: thrown.stack() ?? by.stack() }
      return stack.is
    },
    ...(retryAfter !== undefined && { retryAfter }),
    because,
  }
}

/** `fetch failed` alone helps nobody. */
const withCause = (message: string, cause: string | undefined): string =>
  cause === undefined || message.includes(cause) ? message : bounded(`${message} (cause: ${cause})`)

const overrule = (failure: Failure, { category, reason }: Override): Failure => {
  const { retryAfter, ...rest } = failure
  const keep = retryAfter !== undefined && category !== 'permanent'
  return { ...rest, ...(keep && { retryAfter }), category, because: `override: ${reason}` }
}

/** By the failure as operators see it, or by any one error of those it was made of. */
const suits = (match: Match, failure: Failure, thrown: Thrown): boolean =>
  Object.values(match).some((value) => value !== undefined) &&
  (suitsOne(match, { ...failure, codes: failure.code === undefined ? [] : [failure.code] }) ||
    linksOf(thrown).some((link) => suitsOne(match, link)))

const linksOf = (thrown: Thrown): readonly Thrown[] => [
  thrown,
  ...(thrown.cause ? linksOf(thrown.cause) : []),
  ...thrown.errors.flatMap(linksOf),
]

const suitsOne = (match: Match, error: Pick<Thrown, 'codes' | 'name' | 'status' | 'message'>): boolean =>
  (match.code === undefined || error.codes.includes(match.code)) &&
  (match.name === undefined || error.name === match.name) &&
  (match.status === undefined || error.status === match.status) &&
  (match.message === undefined || holds(error.message, match.message))

/** Part after part, each behind the one before: linear in the message, whatever the pattern. */
const holds = (text: string, pattern: string): boolean => {
  let from = 0
  for (const part of pattern.split('*')) {
    const at = text.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return true
}
