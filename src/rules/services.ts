import type { Millis } from '../core/time.ts'
import { batchersOf } from './batches.ts'
import type { RuleBook } from './book.ts'
import { BARE_BREAKER, BARE_TIMEOUT, DEFAULTS, type Dependency } from './builtin.ts'
import { timeoutOf } from './guards.ts'
import { type Picker, picker, serviceLevels } from './levels.ts'
import { fillName } from './naming.ts'
import { present } from './present.ts'
import type { Demand, ServiceRules } from './rules.ts'
import type { WrittenDefaults } from './schema.ts'

export const serviceRules = (book: RuleBook, service: string): ServiceRules => {
  const levels = serviceLevels(book, service)
  const from = picker(book, levels)
  const { pick, noteWritten, provenance } = from
  const demand = resolveDemand(from)
  for (const { says, path } of levels.toReversed()) {
    for (const name of Object.keys(says.batchers ?? {})) {
      noteWritten(`batchers.${name}`, [...path, 'batchers', name])
    }
  }
  const concurrency = pick('concurrency', (says) => says.concurrency, DEFAULTS.concurrency)
  return {
    service,
    consumerGroup: consumerGroupOf(book, service, from),
    concurrency,
    window: pick('window', (says) => says.window, windowFor(book, service, concurrency, demand)),
    lease: pick('lease', (says) => says.lease, leaseFor(book, service)),
    ...(demand && { demand }),
    transactions: pick('transactions', (says) => says.transactions, false),
    batchers: batchersOf(book, service),
    provenance,
  }
}

export const consumerGroupOf = (
  book: RuleBook,
  service: string,
  { noteWritten }: Pick<Picker<unknown>, 'noteWritten'>,
): string => {
  const own = book.services.get(service)?.consumerGroup
  noteWritten(
    'consumerGroup',
    own === undefined ? ['naming', 'consumerGroup'] : ['services', service, 'consumerGroup'],
  )
  return own ?? fillName(book.naming.consumerGroup, { service })
}

const resolveDemand = ({ pick }: Picker<WrittenDefaults>): Demand | undefined => {
  if (pick('demand', (says) => says.demand) === undefined) return undefined
  const of = (key: keyof Demand): number =>
    pick(`demand.${key}`, (says) => says.demand?.[key], DEFAULTS.demand[key])
  return { poll: of('poll'), atOnce: of('atOnce'), min: of('min'), max: of('max') }
}

/** As many as the workers may have, and never so few that no batch could fill while others run. */
const windowFor = (
  book: RuleBook,
  service: string,
  concurrency: number,
  demand: Demand | undefined,
): number => {
  const rows = Object.values(book.services.get(service)?.events ?? {})
  const own = [...rows, ...serviceLevels(book, service).map(({ says }) => says)].flatMap(({ batch }) =>
    typeof batch === 'object' ? [{ ...DEFAULTS.batch, ...present(batch) }] : [],
  )
  const gathered = [...own, ...batchersOf(book, service).values()].reduce(
    (sum, batch) => sum + batch.size * (batch.concurrency + 1),
    0,
  )
  const wanted = Math.max(concurrency * (demand?.max ?? DEFAULTS.windowPerWorker), gathered)
  return Math.min(wanted, LARGEST_WINDOW)
}

/** As a book may write it. */
const LARGEST_WINDOW = 100_000

/** Long enough for the slowest handler of the service. */
const leaseFor = (book: RuleBook, service: string): Millis => {
  const rows = Object.values(book.services.get(service)?.events ?? {})
  const levels = [...rows, ...serviceLevels(book, service).map(({ says }) => says)]
  const timeouts = levels.map(({ timeout }) => timeoutOf(timeout, book.timeouts) ?? DEFAULTS.timeout)
  return Math.max(DEFAULTS.lease, Math.max(...timeouts) + DEFAULTS.leaseSlack)
}

/** What holds for a dependency; one that the book does not name has the usual timeout and breaker. */
export const dependencyOf = (book: RuleBook, name: string): Dependency =>
  book.dependencies.get(name) ?? {
    name,
    timeout: BARE_TIMEOUT,
    timeouts: {},
    breaker: { ...BARE_BREAKER, name },
  }

/** How long a call to a dependency may take, or one operation of it; an undeclared one has the bare timeout. */
export const dependencyTimeout = (book: RuleBook, name: string, operation?: string): Millis => {
  const { timeout, timeouts } = dependencyOf(book, name)
  return operation !== undefined && Object.hasOwn(timeouts, operation) ? timeouts[operation]! : timeout
}
