import type { Millis } from '../../core/time.ts'
import type { RuleBook } from '../book.ts'
import { levelsOf, serviceLevels } from '../levels.ts'
import type { Path } from '../place.ts'
import { rulesFor } from '../resolve.ts'
import type { Rules, ServiceRules } from '../rules.ts'
import type { WrittenRules } from '../schema.ts'
import { serviceRules } from '../services.ts'
import type { Remark } from './finding.ts'

/** What a book can't know of the world that it will be used in. What is absent is not looked at. */
export interface Facts {
  readonly transport?: TransportFacts
  /** Processes that run the same service. */
  readonly instances?: number
  /** The scheme of the app's own store, such as `sqlite`. */
  readonly store?: string
}

export interface TransportFacts {
  readonly name: string
  /** The longest wait it keeps by itself. */
  readonly later: Millis
  readonly order: 'none' | 'owner' | 'key'
  /** It can subscribe to a beginning of topic names. */
  readonly patterns: boolean
  /** After how long the broker takes back a delivery that is not settled, however often it is extended. */
  readonly unsettled?: Millis
}

export interface Scope {
  readonly book: RuleBook
  readonly facts: Facts
}

/** A row of a service, or the service itself where it has none, with the rules that hold there. */
export interface Pair {
  readonly service: string
  /** As the row is written, exact or with a star. */
  readonly event: string
  readonly path: Path
  readonly rules: Rules
  readonly whole: ServiceRules
  /** Where a value of `rules` is written, by its dotted path; undefined: it is built in. */
  from(dotted: string): Path | undefined
  /** The same for what holds for the service as a whole. */
  fromService(key: 'concurrency' | 'window' | 'lease'): Path | undefined
  /** ` (as for mail-svc, todo.task.created)`, where the place is not the pair's own. */
  example(at: Path): string
}

/** What a check looks at: each pair in turn, and in the end the book as a whole. */
export interface Look {
  pair?(pair: Pair): Iterable<Remark>
  whole?(): Iterable<Remark>
}

export type Check = (scope: Scope) => Look

export function* pairsIn(book: RuleBook): Generator<Pair> {
  for (const [service, { events = {} }] of book.services) {
    const rows = Object.keys(events)
    const whole = serviceRules(book, service)
    if (rows.length === 0) yield pairOf(book, service, '*', ['services', service], whole)
    for (const event of rows)
      yield pairOf(book, service, event, ['services', service, 'events', event], whole)
  }
}

const pairOf = (book: RuleBook, service: string, event: string, path: Path, whole: ServiceRules): Pair => {
  let levels: ReturnType<typeof levelsOf> | undefined
  return {
    service,
    event,
    path,
    rules: rulesFor(book, service, event),
    whole,
    from: (dotted) => {
      levels ??= levelsOf(book, service, event)
      return originIn(levels, dotted)
    },
    fromService: (key) => originIn(serviceLevels(book, service), key),
    example: (at) => {
      if (path.every((name, index) => at[index] === name)) return ''
      return path.length === 2 ? ` (as for ${service})` : ` (as for ${service}, ${event})`
    },
  }
}

const originIn = (
  levels: readonly { readonly says: object; readonly path: Path }[],
  dotted: string,
): Path | undefined => {
  const keys = dotted.split('.')
  const level = levels.find(({ says }) => valueAt(says, keys) !== undefined)
  return level && [...level.path, ...keys]
}

const valueAt = (from: unknown, keys: Path): unknown =>
  keys.reduce<unknown>(
    (value, key) =>
      value !== null && typeof value === 'object' && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    from,
  )

/** Every place that can say something of events: `defaults`, each service, each row. */
export function* levelsIn(book: RuleBook): Generator<{ readonly says: WrittenRules; readonly path: Path }> {
  yield { says: book.defaults, path: ['defaults'] }
  for (const [service, own] of book.services) {
    yield { says: own, path: ['services', service] }
    for (const [event, says] of Object.entries(own.events ?? {})) {
      yield { says, path: ['services', service, 'events', event] }
    }
  }
}
