import { covers } from '../core/pattern.ts'
import type { Millis } from '../core/time.ts'
import type { RuleBook } from './book.ts'
import { quarantinesOf } from './naming.ts'
import { rulesFor } from './resolve.ts'

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
  const rows = Object.keys(book.services.get(service)?.events ?? {})
  const events = new Set(types.flatMap((type) => [type, ...rows.filter((row) => covers(type, row))]))
  const found = new Map<string, { readonly name: string; readonly expire?: Millis }>()
  for (const event of events) {
    const { destination, quarantine, expire } = rulesFor(book, service, event, topic).deadLetter
    found.set(destination, { name: destination, ...(expire !== undefined && { expire }) })
    // What was set aside as poison waits for an operator, however long that takes.
    for (const name of quarantinesOf(quarantine)) found.set(name, { name })
  }
  return [...found.values()]
}
