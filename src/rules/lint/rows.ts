import { covers, isPrefix, matches } from '../../core/pattern.ts'
import type { WrittenRules } from '../schema.ts'
import type { Remark } from './finding.ts'
import type { Check, Pair } from './scope.ts'
import { vocabularyOf } from './vocabulary.ts'

/** Rows that no event will ever ask. */
export const rows: Check = ({ book }) => {
  if (book.topics.size === 0) return {}
  const words = vocabularyOf(book)
  const folded = new Map<string, string>()
  for (const { types } of book.topics.values()) {
    for (const type of types) if (!folded.has(fold(type))) folded.set(fold(type), type)
  }
  return {
    *pair(pair) {
      const { event, path } = pair
      if (path.length < 4) return
      const meant = folded.get(fold(event))
      if (meant !== undefined && meant !== event && !words.declared(event)) {
        yield {
          id: 'row-misses-topic',
          path,
          reason: `no topic has '${event}', and one has '${meant}': this row is asked for another event`,
          fix: `write '${meant}', or give '${event}' a topic`,
        }
      }
      if (isPrefix(event))
        yield* shadowed(pair, book.services.get(pair.service)!.events!, words.within(event))
    },
  }
}

/** The same name but for case and the marks between its words. */
const fold = (name: string): string => name.toLowerCase().replace(/[._:/-]/g, '')

/** Where `topics` names more, nobody is told: to look through them for each service would take too long. */
const MOST_TYPES = 1000

/** Only where `topics` names every type with that beginning: else the row is there for those to come. */
function* shadowed(
  { event, path }: Pair,
  events: Readonly<Record<string, WrittenRules>>,
  types: Iterable<string> | undefined,
): Generator<Remark> {
  const says = wordsOf(events[event]!)
  if (!types || !says || says.length === 0) return
  const nearer = Object.keys(events).filter((row) => row !== event && covers(event, row))
  const heard = (type: string): boolean => {
    const said = new Set(nearer.flatMap((row) => (matches(row, type) ? (wordsOf(events[row]!) ?? []) : [])))
    return says.some((word) => !said.has(word))
  }
  let count = 0
  for (const type of types) if (++count > MOST_TYPES || heard(type)) return
  if (count === 0) return
  yield {
    id: 'row-shadowed',
    path,
    reason: `it never counts: ${count === 1 ? 'the one type' : `all ${count} types`} that 'topics' names with this beginning have nearer rows that say the same things`,
    fix: 'take it away, or take from the nearer rows what it should decide',
  }
}

/** Those that are taken apart: a nearer row that says one of their values leaves the others to the row behind it. */
const APART: ReadonlySet<string> = new Set(['idempotency', 'deadLetter', 'alerts'])

/** Which values a row decides; undefined: it can't be shadowed, since overrides of all rows count. */
const wordsOf = (says: WrittenRules): readonly string[] | undefined => {
  if (says.overrides?.length) return undefined
  return Object.entries(says).flatMap(([key, value]) => {
    if (value === undefined) return []
    if (!APART.has(key)) return [key]
    return Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([inner]) => `${key}.${inner}`)
  })
}
