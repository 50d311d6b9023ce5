import type { Millis } from '../../core/time.ts'
import type { RuleBook } from '../book.ts'
import { showDuration } from '../duration.ts'
import { topicWord } from '../naming.ts'
import { rulesFor } from '../resolve.ts'
import type { Rules } from '../rules.ts'
import { serviceRules } from '../services.ts'
import { topicsFor } from '../topics.ts'
import { type Part, rowsOf, servicesOf } from './pairs.ts'
import { limitWords } from './phrases.ts'

/** One consumer's door: service × topic, and what hangs on it. */
export interface Door {
  readonly service: string
  readonly topic: string
  readonly consumerGroup: string
  /** What RabbitMQ calls it; elsewhere it is the consumer group on the topic. */
  readonly queue: string
  readonly rows: readonly Rules[]
}

export interface Destination {
  readonly name: string
  readonly is: 'dead letters' | 'quarantine'
  readonly services: readonly string[]
  /** How long the office keeps what lay there. */
  readonly retention: Millis
  /** After how long the broker drops it; absent: never. */
  readonly expire?: Millis
}

export interface Topology {
  readonly topics: readonly { readonly name: string; readonly retention?: Millis }[]
  readonly doors: readonly Door[]
  readonly destinations: readonly Destination[]
  readonly receipts: string
}

export const topologyOf = (book: RuleBook, part: Part = {}): Topology => {
  const doors = servicesOf(book, part).flatMap((service) => doorsOf(book, service))
  const topics = [...new Set(doors.map(({ topic }) => topic))].map((name) => {
    const retention = book.topics.get(name)?.retention
    return { name, ...(retention !== undefined && { retention }) }
  })
  return { topics, doors, destinations: destinationsOf(doors), receipts: `${book.naming.receipts}.*` }
}

const doorsOf = (book: RuleBook, service: string): readonly Door[] => {
  const { consumerGroup } = serviceRules(book, service)
  const byTopic = new Map<string, Rules[]>()
  for (const row of rowsOf(book, service)) {
    for (const topic of topicsFor(book, row, true)) {
      const rules = rulesFor(book, service, row, topic)
      byTopic.set(topic, [...(byTopic.get(topic) ?? []), rules])
    }
  }
  return [...byTopic].map(([topic, rows]) => ({
    service,
    topic,
    consumerGroup,
    queue: `${service}.${topicWord(topic)}`,
    rows,
  }))
}

const destinationsOf = (doors: readonly Door[]): readonly Destination[] => {
  const found = new Map<string, Destination>()
  const add = (one: Destination) => {
    const before = found.get(one.name)
    const services = [...new Set([...(before?.services ?? []), ...one.services])]
    found.set(one.name, { ...(before ?? one), services })
  }
  for (const { service, rows } of doors) {
    for (const { deadLetter } of rows) {
      const { destination, quarantine, retention, expire } = deadLetter
      const services = [service]
      add({
        name: destination,
        is: 'dead letters',
        services,
        retention,
        ...(expire !== undefined && { expire }),
      })
      add({ name: quarantine, is: 'quarantine', services, retention })
    }
  }
  return [...found.values()]
}

/** For terminals and mails. */
export const topologyText = ({ topics, doors, destinations, receipts }: Topology): string => {
  const lines = [
    'topics',
    ...topics.map(({ name, retention }) =>
      retention === undefined ? `  ${name}` : `  ${name}  kept ${showDuration(retention)}`,
    ),
    '',
    'subscriptions',
    ...doors.flatMap(doorLines),
    '',
    'destinations',
    ...destinations.map(destinationLine),
    `  ${receipts}  receipts of replays, for the office`,
  ]
  return `${lines.join('\n')}\n`
}

const doorLines = ({ service, topic, consumerGroup, queue, rows }: Door): readonly string[] => [
  `  ${topic} → ${service}  (consumer group ${consumerGroup}, queue ${queue})`,
  ...rows.flatMap(({ event, policy, deadLetter }) => [
    `    ${event}`,
    policy.retries === 0
      ? '      fails    → buried at once'
      : `      fails    → waits by policy ${policy.name} (${limitWords(policy)}) → ${service} again`,
    `      dead     → ${deadLetter.destination}`,
    `      poison   → ${deadLetter.quarantine}`,
    `      replayed → ${service} again, and no other`,
  ]),
]

const destinationLine = ({ name, is, services, retention, expire }: Destination): string => {
  const dropped = expire === undefined ? '' : `, dropped by the broker after ${showDuration(expire)}`
  return `  ${name}  ${is} of ${services.join(', ')}, kept ${showDuration(retention)}${dropped}`
}
