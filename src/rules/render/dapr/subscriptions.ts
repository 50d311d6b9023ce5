import { isPrefix } from '../../../core/pattern.ts'
import type { RuleBook } from '../../book.ts'
import { topicWord } from '../../naming.ts'
import { rulesFor } from '../../resolve.ts'
import { serviceRules } from '../../services.ts'
import { topicsFor } from '../../topics.ts'
import { servicesOf } from '../pairs.ts'
import { pubsubOf } from './components.ts'
import type { Loss } from './loss.ts'
import type { DaprOptions } from './resiliency.ts'
import { held, type SubscriptionDocument, subscriptionSchema } from './schema.ts'
import { resourceName } from './words.ts'

type Routes = SubscriptionDocument['spec']['routes']

/** A Subscription for each service and topic, with its dead-letter topic; the app's id is the service's name. */
export const subscriptionsOf = (
  book: RuleBook,
  { service }: DaprOptions = {},
): { readonly documents: readonly SubscriptionDocument[]; readonly losses: readonly Loss[] } => {
  const pubsub = pubsubOf(book.dapr)
  const services = servicesOf(book, { service })
  if (pubsub === undefined) {
    const because =
      "the book's dapr section names no pub/sub component (dapr.pubsub, or a component of kind pubsub)"
    return {
      documents: [],
      losses: services.length === 0 ? [] : [{ at: 'subscriptions', lost: 'all', because }],
    }
  }
  const losses: Loss[] = []
  const documents = services.flatMap((each) => {
    losses.push(...serviceLosses(book, each))
    return [...rowsByTopic(book, each)].map(([topic, rows]) => {
      const found = subscriptionOf(book, pubsub, each, topic, rows)
      losses.push(...found.losses)
      return found.document
    })
  })
  return { documents, losses }
}

const rowsByTopic = (book: RuleBook, service: string): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, string[]>()
  for (const row of Object.keys(book.services.get(service)?.events ?? {})) {
    for (const topic of topicsFor(book, row, false)) found.set(topic, [...(found.get(topic) ?? []), row])
  }
  return found
}

const subscriptionOf = (
  book: RuleBook,
  pubsub: string,
  service: string,
  topic: string,
  rows: readonly string[],
): { readonly document: SubscriptionDocument; readonly losses: readonly Loss[] } => {
  const name = resourceName(service, topic)
  const routes = routesOf(topic, rows)
  const letters = rows.map((row) => rulesFor(book, service, row, topic).deadLetter.destination)
  const [deadLetterTopic = ''] = letters
  const others = rows.filter((_, i) => letters[i] !== deadLetterTopic)
  const document: SubscriptionDocument = {
    apiVersion: 'dapr.io/v2alpha1',
    kind: 'Subscription',
    metadata: { name, ...(book.dapr.namespace !== undefined && { namespace: book.dapr.namespace }) },
    scopes: [service],
    spec: { pubsubname: pubsub, topic, deadLetterTopic, routes },
  }
  const losses: readonly (Loss | false)[] = [
    others.length > 0 && {
      at: `subscription ${name}`,
      lost: `the destinations of ${others.join(', ')}`,
      because: `Dapr has one dead-letter topic for a subscription: ${deadLetterTopic}`,
    },
    routes.rules !== undefined && {
      at: `subscription ${name}`,
      lost: 'the rule that types no row names are left alone',
      because: `Dapr dead-letters what no route takes: they come to ${OTHERS}, which must answer with success`,
    },
  ]
  return { document: held(subscriptionSchema, document), losses: losses.filter((loss) => loss !== false) }
}

const OTHERS = '/events/others'

const pathOf = (row: string): string => `/events/${encodeURIComponent(topicWord(row))}`

/** A topic of the type's own name needs no choice; on others the exact type goes before longer beginnings. */
const routesOf = (topic: string, rows: readonly string[]): Routes => {
  const [first = ''] = rows
  if (rows.length === 1 && first === topic) return { default: pathOf(first) }
  const ordered = [...rows].sort((a, b) => Number(isPrefix(a)) - Number(isPrefix(b)) || b.length - a.length)
  return {
    rules: ordered.map((row) => ({
      match: isPrefix(row)
        ? `event.type.startsWith(${JSON.stringify(row.slice(0, -1))})`
        : `event.type == ${JSON.stringify(row)}`,
      path: pathOf(row),
    })),
    default: OTHERS,
  }
}

const serviceLosses = (book: RuleBook, service: string): readonly Loss[] => {
  const rows = Object.keys(book.services.get(service)?.events ?? {})
  const at = `services.${service}`
  const { consumerGroup } = serviceRules(book, service)
  const losses: readonly (Loss | false)[] = [
    rows.length === 0 && {
      at,
      lost: 'its subscriptions',
      because: 'the book has no row for it, and Dapr must know its topics',
    },
    ...rows.filter(isPrefix).map((row) => {
      const topics = topicsFor(book, row, false)
      return {
        at: `${at}.events.${row}`,
        lost: topics.length === 0 ? 'the subscription' : 'topics that the book does not call by name',
        because: 'Dapr subscribes to whole names of topics only',
      }
    }),
    consumerGroup !== service && {
      at,
      lost: `consumer group ${consumerGroup}`,
      because: "Dapr's is the app's id, or one for a whole component in its own metadata",
    },
  ]
  return losses.filter((loss) => loss !== false)
}
