import type { RuleBook } from './book.ts'
import { APP_STORE } from './builtin.ts'
import { serviceLevels } from './levels.ts'

/** The stores other than the app's own that the rules of a service may choose, whatever the type of an event. */
export const storesFor = (book: RuleBook, service: string): readonly string[] => {
  const rows = Object.values(book.services.get(service)?.events ?? {})
  const says = [...rows, ...serviceLevels(book, service).map(({ says }) => says)]
  const names = new Set(says.flatMap(({ idempotency }) => idempotency?.store ?? []))
  return [...names].filter((name) => name !== APP_STORE)
}
