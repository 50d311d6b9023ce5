import { ReprieveError } from '../../core/error.ts'
import type { RuleBook } from '../book.ts'
import { oneOf } from '../problem.ts'
import { rulesFor } from '../resolve.ts'
import type { Rules } from '../rules.ts'

/** Which part of the book is wanted: all of it, one service, or one pair. */
export interface Part {
  readonly service?: string | undefined
  readonly event?: string | undefined
}

/** The services wanted. A name that the book does not know is refused: an empty page would say nothing. */
export const servicesOf = (book: RuleBook, { service }: Part): readonly string[] => {
  const all = [...book.services.keys()]
  if (service === undefined) return all
  if (book.services.has(service)) return [service]
  throw new ReprieveError('bad_usage', `the rule book names no service '${service}'`, {
    fix: all.length === 0 ? 'write the service into the rule book' : `name ${oneOf(all, service)}`,
  })
}

/**
 * The rules of every pair wanted: each row of each service; for a service without rows the one rule that holds for
 * all its events. A pair that is asked for by name has rules even where only the defaults speak of it.
 */
export const pairsOf = (book: RuleBook, part: Part): readonly Rules[] => {
  const { service, event } = part
  if (service !== undefined && event !== undefined) return [rulesFor(book, service, event)]
  return servicesOf(book, part).flatMap((each) => rowsOf(book, each).map((row) => rulesFor(book, each, row)))
}

/** The rows of a service as they are written; the star where there are none. */
export const rowsOf = (book: RuleBook, service: string): readonly string[] => {
  const rows = Object.keys(book.services.get(service)?.events ?? {})
  return rows.length === 0 ? ['*'] : rows
}
