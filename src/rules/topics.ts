import { bestMatch, covers, isPrefix, matches, overlaps } from '../core/pattern.ts'
import type { RuleBook } from './book.ts'

/** Where a type of event is published: where the book says, else a topic of its own name. */
export const topicOf = (book: RuleBook, type: string): string => {
  const best = bestMatch(
    [...book.topics.values()].flatMap(({ types }) => types),
    type,
  )
  if (best === undefined) return type
  for (const [name, { types }] of book.topics) if (types.includes(best)) return name
  return type
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
