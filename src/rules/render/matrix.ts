import type { RuleBook } from '../book.ts'
import { showDuration } from '../duration.ts'
import type { Rules } from '../rules.ts'
import { code, grid, page, section } from './markdown.ts'
import { type Part, pairsOf } from './pairs.ts'
import { breakerName, eventWords, patternWords } from './phrases.ts'

/** Service × event: who handles what, and by which rules. For programs. */
export const matrixRows = (book: RuleBook, part: Part = {}) =>
  pairsOf(book, part).map((rules) => ({
    service: rules.service,
    event: rules.event,
    topic: rules.topic,
    policy: rules.policy.name,
    pattern: rules.idempotency.pattern,
    store: rules.idempotency.store,
    destination: rules.deadLetter.destination,
    breaker: rules.breaker?.name ?? null,
    timeoutMs: rules.timeout,
    criticality: rules.criticality,
  }))

/** The same as a table for each service. */
export const renderMatrix = (book: RuleBook, part: Part = {}): string => {
  const pairs = pairsOf(book, part)
  const services = Map.groupBy(pairs, ({ service }) => service)
  return page([
    section(1, 'Resilience matrix'),
    services.size === 0 && 'The rule book names no service: the defaults hold for every pair.',
    ...[...services].flatMap(([service, rows]) => [section(2, code(service)), tableOf(rows)]),
  ])
}

const tableOf = (pairs: readonly Rules[]): string =>
  grid(
    ['event', 'policy', 'idempotency', 'dead letters', 'breaker', 'timeout'],
    pairs.map((rules) => [
      eventWords(rules.event),
      code(rules.policy.name),
      rules.idempotency.pattern === 'none'
        ? 'none'
        : `${patternWords(rules.idempotency)}, ${code(rules.idempotency.store)}`,
      code(rules.deadLetter.destination),
      breakerName(rules.breaker),
      showDuration(rules.timeout),
    ]),
  )
