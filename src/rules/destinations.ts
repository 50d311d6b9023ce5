import { covers } from '../core/pattern.ts'
import type { Millis } from '../core/time.ts'
import type { RuleBook } from './book.ts'
import { quarantinesOf } from './naming.ts'
import { rulesFor } from './resolve.ts'

/** The types or patterns, and the rows that they take in: where the rules of their events may differ. */
export const rowsWithin = (book: RuleBook, service: string, types: readonly string[]): readonly string[] => {
  const rows = Object.keys(book.services.get(service)?.events ?? {})
  return [...new Set(types.flatMap((type) => [type, ...rows.filter((row) => covers(type, row))]))]
}

/**
 * Every destination that events of these types may be buried in, so that all can be made ready at subscribe: those
 * of each type or pattern, and of the rows that a pattern takes in.
 */
export const destinationsFor = (
  book: RuleBook,
  service: string,
  types: readonly string[],
  topic?: string,
): readonly { readonly name: string; readonly expire?: Millis }[] => {
  const events = rowsWithin(book, service, types)
  const found = new Map<string, { readonly name: string; readonly expire?: Millis }>()
  for (const event of events) {
    const { destination, quarantine, expire } = rulesFor(book, service, event, topic).deadLetter
    found.set(destination, { name: destination, ...(expire !== undefined && { expire }) })
    // What was set aside as poison waits for an operator, however long that takes.
    for (const name of quarantinesOf(quarantine)) found.set(name, { name })
  }
  return [...found.values()]
}
