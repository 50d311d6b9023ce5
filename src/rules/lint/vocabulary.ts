import { isPrefix } from '../../core/pattern.ts'
import type { RuleBook } from '../book.ts'
import { knownTypes } from '../topics.ts'

/** Which types the book names, found without looking through all of them for each question. */
export interface Vocabulary {
  /** Whether a topic carries types of this name or beginning, as far as the book tells. */
  serves(pattern: string): boolean
  /** Whether something under `topics` takes in this whole name or beginning. */
  declared(pattern: string): boolean
  /** The full names under `topics` with this beginning; undefined: a star there means that others may come. */
  within(prefix: string): Iterable<string> | undefined
}

export const vocabularyOf = (book: RuleBook): Vocabulary => {
  const types = [...book.topics.values()].flatMap((topic) => topic.types)
  const stars = new Set(types.filter(isPrefix))
  const starred = [...stars].map((star) => star.slice(0, -1)).sort()
  const names = new Set(types.filter((type) => !isPrefix(type)))
  const exact = [...names].sort()
  const known = knownTypes(book)
  const declared = (pattern: string): boolean => names.has(pattern) || coveredBy(stars, pattern)
  return {
    declared,
    serves: (pattern) => {
      const prefix = stem(pattern)
      return declared(pattern) || begins(starred, prefix) || begins(known, prefix)
    },
    within: (pattern) => {
      const prefix = stem(pattern)
      if (coveredBy(stars, pattern) || begins(starred, prefix)) return undefined
      return beginning(exact, prefix)
    },
  }
}

const stem = (pattern: string): string => (isPrefix(pattern) ? pattern.slice(0, -1) : pattern)

/** Whether a beginning in the set takes in the name: as many questions as it has letters, however many there are. */
const coveredBy = (stars: ReadonlySet<string>, name: string): boolean => {
  if (stars.size === 0) return false
  const plain = stem(name)
  for (let length = 0; length <= plain.length; length++)
    if (stars.has(`${plain.slice(0, length)}*`)) return true
  return false
}

function* beginning(sorted: readonly string[], prefix: string): Generator<string> {
  for (let index = lowerBound(sorted, prefix); sorted[index]?.startsWith(prefix); index++)
    yield sorted[index]!
}

const begins = (sorted: readonly string[], prefix: string): boolean =>
  sorted[lowerBound(sorted, prefix)]?.startsWith(prefix) ?? false

const lowerBound = (sorted: readonly string[], key: string): number => {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
