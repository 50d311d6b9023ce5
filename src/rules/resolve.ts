import { overlaps } from '../core/pattern.ts'
import type { Redaction } from '../core/redact.ts'
import type { Millis } from '../core/time.ts'
import { resolveAlerts } from './alerts.ts'
import { batchersOf, resolveBatch } from './batches.ts'
import type { RuleBook } from './book.ts'
import { DEFAULTS, POISON, type Poison } from './builtin.ts'
import { resolveDeadLetter, resolveIdempotency } from './fates.ts'
import { breakerOf, timeoutOf } from './guards.ts'
import { coverageOf, levelsOf, type Picker, picker } from './levels.ts'
import { resolvePolicy } from './policy-of.ts'
import type { Rules } from './rules.ts'
import type { WrittenRules } from './schema.ts'
import { consumerGroupOf } from './services.ts'
import { topicOf } from './topics.ts'

/** By book, service and event. Types come from outside: whoever asks for ever new ones must not fill the memory. */
const remembered = new WeakMap<RuleBook, { pairs: number; readonly by: Map<string, Map<string, Rules>> }>()
const MOST_REMEMBERED = 50_000

/**
 * The full rules of a pair. For each value the nearest word counts: the event's own row, then rows with a star from
 * the longest beginning to the shortest, then the service, then `defaults`, then what is built in. Overrides of all
 * levels are kept, the nearest first. `event` may be a pattern: then its rules are those of its row.
 */
export const rulesFor = (book: RuleBook, service: string, event: string, topic?: string): Rules => {
  if (topic !== undefined) return resolve(book, service, event, topic)
  const known = remembered.get(book)?.by.get(service)?.get(event)
  return known ?? remember(book, resolve(book, service, event, topicOf(book, event)))
}

const remember = (book: RuleBook, rules: Rules): Rules => {
  let all = remembered.get(book)
  if (!all || all.pairs >= MOST_REMEMBERED) {
    all = { pairs: 0, by: new Map() }
    remembered.set(book, all)
  }
  const { service, event } = rules
  const events = all.by.get(service) ?? new Map<string, Rules>()
  all.by.set(service, events.set(event, rules))
  all.pairs++
  return rules
}

/** Where the values come from is found out when somebody asks: that takes longer than to find the values. */
const resolve = (book: RuleBook, service: string, event: string, topic: string): Rules => {
  const levels = levelsOf(book, service, event)
  let found: Rules['provenance'] | undefined
  const provenance = (): Rules['provenance'] => {
    if (!found) {
      const from = picker(book, levels)
      valuesOf(book, { service, event, topic }, from, provenance)
      found = from.provenance
    }
    return found
  }
  return valuesOf(book, { service, event, topic }, picker(book, levels, false), provenance)
}

const valuesOf = (
  book: RuleBook,
  { service, event, topic }: Pick<Rules, 'service' | 'event' | 'topic'>,
  from: Picker<WrittenRules>,
  provenance: () => Rules['provenance'],
): Rules => {
  const { pick } = from
  const guard = resolveBreaker(book, from)
  const channel = pick('channel', (says) => says.channel)
  const poison = resolvePoison(from)
  const ttl = pick('ttl', (says) => says.ttl)
  const priority = pick('priority', (says) => says.priority)
  const batch = resolveBatch(from, () => batchersOf(book, service), priority)
  const concurrency = resolveCap(from)
  const redact = redactionsFor(book, service, event)
  return {
    service,
    event,
    consumerGroup: consumerGroupOf(book, service, from),
    topic,
    covered: coverageOf(book, service, event),
    policy: resolvePolicy(book, service, event, from),
    timeout: timeoutOf(
      pick<Millis | string>('timeout', (says) => says.timeout, DEFAULTS.timeout),
      book.timeouts,
    )!,
    ...(guard && { breaker: guard }),
    dependencies: resolveDependencies(book, from),
    overrides: from.all('overrides', (says) => says.overrides),
    idempotency: resolveIdempotency(book, from, topic),
    deadLetter: resolveDeadLetter(book, from, { service, topic, channel }),
    ...(poison && { poison }),
    alerts: resolveAlerts(from),
    ...(channel !== undefined && { channel }),
    order: pick('order', (says) => says.order, DEFAULTS.order),
    afterDeath: pick('afterDeath', (says) => says.afterDeath, DEFAULTS.afterDeath),
    ...(batch && { batch }),
    ...(concurrency && { concurrency }),
    ...(ttl !== undefined && { ttl }),
    ...(priority !== undefined && { priority }),
    criticality: pick('criticality', (says) => says.criticality, DEFAULTS.criticality),
    dataLoss: pick('dataLoss', (says) => says.dataLoss, DEFAULTS.dataLoss),
    ...(redact.length > 0 && { redact }),
    get provenance() {
      return provenance()
    },
  }
}

/** All that fit, not only the nearest: nobody lets a secret through by saying more of an event. */
const redactionsFor = (book: RuleBook, service: string, event: string): readonly Redaction[] =>
  book.redact
    .filter((rule) => (rule.service ?? service) === service && overlaps(rule.event ?? '*', event))
    .map(({ paths = [], headers = [] }) => ({ paths, headers }))

const resolveBreaker = (book: RuleBook, { pick, note, noteWritten, provenance }: Picker<WrittenRules>) => {
  const named = pick('breaker', (says) => says.breaker)
  if (named === undefined) return undefined
  const breaker = breakerOf(named, 'inline', book.breakers, undefined)
  if (typeof named === 'object') note('breaker.definition', provenance.breaker!)
  else if (breaker) noteWritten('breaker.definition', ['breakers', named])
  return breaker
}

/** Only rows have one: what a service says of its concurrency is of all its handlers together. */
const resolveCap = ({ levels, noteWritten }: Picker<WrittenRules>): Rules['concurrency'] => {
  for (const { says, path } of levels) {
    if (says.concurrency === undefined || path[2] !== 'events') continue
    noteWritten('concurrency', [...path, 'concurrency'])
    return { most: says.concurrency, row: `${path[3]}` }
  }
  return undefined
}

const resolveDependencies = (book: RuleBook, { pick, noteWritten }: Picker<WrittenRules>) =>
  pick('dependencies', (says) => says.dependencies, NOTHING).map((name) => {
    noteWritten(`dependencies.${name}`, ['dependencies', name])
    return book.dependencies.get(name)!
  })

const NOTHING: readonly string[] = []

/** A level that says `off` ends it, whatever levels behind it say. */
const resolvePoison = ({ pick, noting }: Picker<WrittenRules>): Poison | undefined => {
  const nearest = pick('poison', (says) => says.poison)
  if (nearest === 'off') return undefined
  if (nearest === undefined && !noting) return POISON
  const of = <K extends keyof Poison>(key: K): Poison[K] =>
    pick(
      `poison.${key}`,
      ({ poison }) => (poison === 'off' ? undefined : poison?.[key]) as Poison[K],
      POISON[key],
    )
  return {
    failures: of('failures'),
    within: of('within'),
    categories: of('categories'),
    crashes: of('crashes'),
  }
}
