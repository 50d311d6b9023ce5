import { covers, isPrefix, matches, overlaps } from '../core/pattern.ts'
import type { RuleBook } from './book.ts'

/** Where a type of event is published: where the book says, else a topic of its own name. */
export const topicOf = (book: RuleBook, type: string): string => {
  const { exact, prefixes } = homesIn(book.topics)
  const own = exact.get(type)
  if (own !== undefined) return own
  return prefixes.find(([pattern]) => matches(pattern, type))?.[1] ?? type
}

interface Homes {
  /** Types and patterns by name: a pattern is at home where it is written. */
  readonly exact: ReadonlyMap<string, string>
  /** Longest first. */
  readonly prefixes: readonly (readonly [pattern: string, topic: string])[]
}

/** Asked for every event that is published: looked through once for each book. */
const known = new WeakMap<RuleBook['topics'], Homes>()

const homesIn = (topics: RuleBook['topics']): Homes => {
  let homes = known.get(topics)
  if (!homes) {
    const all = [...topics].flatMap(([topic, { types }]) => types.map((type) => [type, topic] as const))
    homes = {
      exact: new Map(all.toReversed()),
      prefixes: all.filter(([type]) => isPrefix(type)).sort(([a], [b]) => b.length - a.length),
    }
    known.set(topics, homes)
  }
  return homes
}

/** Every type that the book calls by its full name. */
export const knownTypes = (book: RuleBook): readonly string[] => {
  const named = [
    ...[...book.topics.values()].flatMap(({ types }) => types),
    ...[...book.services.values()].flatMap(({ events }) => Object.keys(events ?? {})),
  ]
  return [...new Set(named)].filter((type) => !isPrefix(type)).sort()
}

/**
 * The topics on which the types of a pattern arrive. Types that the book maps to no topic have topics of their own:
 * where the transport can subscribe to a beginning (`patterns`), the pattern itself stands for them; where it can't,
 * only those that the book calls by name can be heard.
 */
export const topicsFor = (book: RuleBook, pattern: string, patterns: boolean): readonly string[] => {
  if (!isPrefix(pattern)) return [topicOf(book, pattern)]
  const mapped = [...book.topics].filter(([, { types }]) => types.some((type) => overlaps(type, pattern)))
  const names = mapped.map(([name]) => name)
  const closed = mapped.some(([, { types }]) => types.some((type) => covers(type, pattern)))
  if (patterns && !closed) return [...names.filter((name) => !matches(pattern, name)), pattern]
  const known = knownTypes(book).filter((type) => matches(pattern, type))
  return [...new Set([...names, ...known.map((type) => topicOf(book, type))])]
}
