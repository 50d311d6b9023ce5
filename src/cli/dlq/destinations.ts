import type { Destination } from '../../contracts/transport.ts'
import { destinationsFor, type RuleBook } from '../../rules/index.ts'

/** Where the services of a rule book may bury. */
export const bookDestinations = (book: RuleBook): readonly Destination[] =>
  [...book.services.keys()].flatMap((service) => destinationsFor(book, service, ['*']))

/** Each name once; the first that names it knows it best. */
export const together = (...lists: readonly (readonly Destination[])[]): readonly Destination[] => {
  const byName = new Map<string, Destination>()
  for (const destination of lists.flat()) {
    if (!byName.has(destination.name)) byName.set(destination.name, destination)
  }
  return [...byName.values()]
}
