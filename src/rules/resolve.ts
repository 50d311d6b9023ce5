import { POLICIES } from '../core/policy.ts'
import type { Millis } from '../core/time.ts'
import { resolveAlerts } from './alerts.ts'
import type { RuleBook } from './book.ts'
import { APP_STORE, DEFAULTS, POISON, type Poison } from './builtin.ts'
import { breakerOf, timeoutOf } from './guards.ts'
import { coverageOf, levelsOf, type Picker, picker } from './levels.ts'
import { fillName, topicWord } from './naming.ts'
import { buildPolicy } from './policies.ts'
import type { Batch, DeadLetter, Idempotency, Rules } from './rules.ts'
import type { WrittenRules } from './schema.ts'
import { serviceRules } from './services.ts'
import { topicOf } from './topics.ts'

type Pick = Picker<WrittenRules>

/**
 * The full rules of a pair. For each value the nearest word counts: the event's own row, then rows with a star from
 * the longest beginning to the shortest, then the service, then `defaults`, then what is built in. Overrides of all
 * levels are kept, the nearest first. `event` may be a pattern: then its rules are those of its row.
 */
export const rulesFor = (
  book: RuleBook,
  service: string,
  event: string,
  topic: string = topicOf(book, event),
): Rules => {
  const from = picker(book, levelsOf(book, service, event))
  const { pick, provenance } = from
  const breaker = pick('breaker', (says) => says.breaker)
  const guard = breaker === undefined ? undefined : breakerOf(breaker, 'inline', book.breakers, undefined)
  const channel = pick('channel', (says) => says.channel)
  const poison = resolvePoison(from)
  const batch = resolveBatch(from)
  const ttl = pick('ttl', (says) => says.ttl)
  const priority = pick('priority', (says) => says.priority)
  const { consumerGroup, provenance: ofService } = serviceRules(book, service)
  from.note('consumerGroup', ofService.consumerGroup!)
  return {
    service,
    event,
    consumerGroup,
    topic,
    covered: coverageOf(book, service, event),
    policy: resolvePolicy(book, from),
    timeout: timeoutOf(
      pick<Millis | string>('timeout', (says) => says.timeout, DEFAULTS.timeout),
      book.timeouts,
    )!,
    ...(guard && { breaker: guard }),
    dependencies: pick('dependencies', (says) => says.dependencies, []).map(
      (name) => book.dependencies.get(name)!,
    ),
    overrides: from.all('overrides', (says) => says.overrides),
    idempotency: resolveIdempotency(book, from, topic),
    deadLetter: resolveDeadLetter(book, from, { service, topic, channel }),
    ...(poison && { poison }),
    alerts: resolveAlerts(from),
    ...(channel !== undefined && { channel }),
    order: pick('order', (says) => says.order, DEFAULTS.order),
    afterDeath: pick('afterDeath', (says) => says.afterDeath, DEFAULTS.afterDeath),
    ...(batch && { batch }),
    ...(ttl !== undefined && { ttl }),
    ...(priority !== undefined && { priority }),
    criticality: pick('criticality', (says) => says.criticality, DEFAULTS.criticality),
    dataLoss: pick('dataLoss', (says) => says.dataLoss, DEFAULTS.dataLoss),
    provenance,
  }
}

const resolvePolicy = (book: RuleBook, { pick, note, written, provenance }: Pick) => {
  const named = pick<WrittenRules['policy']>('policy', (says) => says.policy, DEFAULTS.policy)!
  if (typeof named === 'string') {
    note('policy.definition', written(['policies', named]))
    return book.policies.get(named) ?? POLICIES.standard
  }
  note('policy.definition', provenance.policy!)
  const base = named.extends === undefined ? undefined : book.policies.get(named.extends)
  return buildPolicy('inline', named, base)
}

const resolveIdempotency = (book: RuleBook, { pick, note, written }: Pick, topic: string): Idempotency => {
  const retention = book.topics.get(topic)?.retention
  const own = pick('idempotency.ttl', (says) => says.idempotency?.ttl)
  if (own === undefined) {
    note('idempotency.ttl', retention === undefined ? 'built in' : written(['topics', topic, 'retention']))
  }
  return {
    pattern: pick('idempotency.pattern', (says) => says.idempotency?.pattern, DEFAULTS.pattern),
    store: pick('idempotency.store', (says) => says.idempotency?.store, APP_STORE),
    // What the broker has forgotten can't come again: to remember it longer would be of no use.
    ttl: own ?? retention ?? DEFAULTS.ledgerTtl,
    key: pick('idempotency.key', (says) => says.idempotency?.key, DEFAULTS.ledgerKey),
  }
}

const resolveDeadLetter = (
  book: RuleBook,
  { pick, note, written }: Pick,
  { service, topic, channel }: { service: string; topic: string; channel: string | undefined },
): DeadLetter => {
  const template = (name: 'deadLetter' | 'quarantine', path: string, own: string | undefined) => {
    if (own === undefined) note(path, written(['naming', name]))
    return own ?? book.naming[name]
  }
  const word = topicWord(topic)
  const values = { service, topic: word, queue: `${service}.${word}`, channel }
  const path = 'deadLetter.destination'
  const ownDestination = pick(path, (says) => says.deadLetter?.destination)
  const destination = fillName(template('deadLetter', path, ownDestination), values)
  const aside = 'deadLetter.quarantine'
  const ownQuarantine = pick(aside, (says) => says.deadLetter?.quarantine)
  const quarantine = template('quarantine', aside, ownQuarantine)
  const expire = pick('deadLetter.expire', (says) => says.deadLetter?.expire)
  return {
    destination,
    quarantine: fillName(quarantine, { ...values, deadLetter: destination }),
    retention: pick('deadLetter.retention', (says) => says.deadLetter?.retention, DEFAULTS.retention),
    ...(expire !== undefined && { expire }),
    reprocessing: pick(
      'deadLetter.reprocessing',
      (says) => says.deadLetter?.reprocessing,
      DEFAULTS.reprocessing,
    ),
    ...(channel !== undefined && { channel }),
  }
}

/** A level that says `off` ends it, whatever levels behind it say. */
const resolvePoison = ({ pick }: Pick): Poison | undefined => {
  const nearest = pick('poison', (says) => says.poison)
  if (nearest === 'off') return undefined
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

const resolveBatch = ({ pick }: Pick): Batch | undefined => {
  if (pick('batch', (says) => says.batch) === undefined) return undefined
  const { batch } = DEFAULTS
  return {
    size: pick('batch.size', (says) => says.batch?.size, batch.size),
    timeout: pick('batch.timeout', (says) => says.batch?.timeout, batch.timeout),
    concurrency: pick('batch.concurrency', (says) => says.batch?.concurrency, batch.concurrency),
    by: pick('batch.by', (says) => says.batch?.by, batch.by),
  }
}
