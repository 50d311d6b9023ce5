import type { Millis } from '../core/time.ts'
import type { RuleBook } from './book.ts'
import { BARE_TIMEOUT, DEFAULTS } from './builtin.ts'
import { timeoutOf } from './guards.ts'
import { picker, serviceLevels } from './levels.ts'
import { fillName } from './naming.ts'
import type { ServiceRules } from './rules.ts'

export const serviceRules = (book: RuleBook, service: string): ServiceRules => {
  const { pick, note, written, provenance } = picker(book, serviceLevels(book, service))
  const own = book.services.get(service)?.consumerGroup
  note(
    'consumerGroup',
    written(own === undefined ? ['naming', 'consumerGroup'] : ['services', service, 'consumerGroup']),
  )
  const concurrency = pick('concurrency', (says) => says.concurrency, DEFAULTS.concurrency)
  return {
    service,
    consumerGroup: own ?? fillName(book.naming.consumerGroup, { service }),
    concurrency,
    window: pick('window', (says) => says.window, concurrency * DEFAULTS.windowPerWorker),
    lease: pick('lease', (says) => says.lease, leaseFor(book, service)),
    provenance,
  }
}

/** Long enough for the slowest handler of the service. */
const leaseFor = (book: RuleBook, service: string): Millis => {
  const rows = Object.values(book.services.get(service)?.events ?? {})
  const levels = [...rows, ...serviceLevels(book, service).map(({ says }) => says)]
  const timeouts = levels.map(({ timeout }) => timeoutOf(timeout, book.timeouts) ?? DEFAULTS.timeout)
  return Math.max(DEFAULTS.lease, Math.max(...timeouts) + DEFAULTS.leaseSlack)
}

/** How long a call to a dependency may take, or one operation of it; an undeclared one has the bare timeout. */
export const dependencyTimeout = (book: RuleBook, name: string, operation?: string): Millis => {
  const dependency = book.dependencies.get(name)
  if (!dependency) return BARE_TIMEOUT
  const { timeout, timeouts } = dependency
  return operation !== undefined && Object.hasOwn(timeouts, operation) ? timeouts[operation]! : timeout
}
