import type { Can, Subscription } from '../contracts/transport.ts'
import { ReprieveError } from '../core/error.ts'
import { bestMatch } from '../core/pattern.ts'
import { isUrgent } from '../core/rank.ts'
import {
  destinationsFor,
  type RuleBook,
  type Rules,
  rowsWithin,
  rulesFor,
  serviceRules,
  topicsFor,
  withoutPolicyFor,
} from '../rules/index.ts'
import { ledgerKeyOf } from './claims.ts'

/** What one service needs of its transport, worked out before anything is asked of it. */
export interface Plan {
  readonly subscriptions: readonly Subscription[]
  /** The pattern of the handler that takes this type at this topic; undefined = it is not for this door. */
  handlerOf(subscription: Subscription, type: string): string | undefined
  rulesOf(topic: string, type: string): Rules
  /** More is asked for when no more than `low` are out, at most `atOnce` at a time. */
  readonly demand: { readonly low: number; readonly atOnce: number }
  /** Some rows give their events a priority, or a concurrency, of their own. */
  readonly varied: boolean
}

/** Types come from outside: whoever sends a new one with each event must not fill the memory. */
const MOST_REMEMBERED = 10_000

export const planService = (
  book: RuleBook,
  service: string,
  patterns: readonly string[],
  transport: { readonly name: string; readonly can: Can },
  trouble: (error: Error) => void = () => {},
  /** The stores, beside the app's own, whose ledgers are there. */
  named: ReadonlySet<string> = new Set(),
  /** The store's own transport, where it stands beside this one. */
  companion?: { readonly can: Can },
): Plan => {
  /** By topic, then by type: to join the two for every event would cost more than to look twice. */
  const remembered = new Map<string, Map<string, Rules>>()
  const bests = new Map<string, string>()
  const rulesOf = (topic: string, type: string): Rules => {
    const byType = remembered.get(topic) ?? new Map<string, Rules>()
    let rules = byType.get(type)
    if (!rules) {
      rules = resolve(type, topic)
      remembered.set(topic, byType)
      if (byType.size < MOST_REMEMBERED) byType.set(type, rules)
    }
    return rules
  }
  /**
   * The app's own function for policies is asked for types that nobody knew at the start. A wrong answer then must not
   * stop the service: the book alone decides, and the mistake is told.
   */
  const resolve = (type: string, topic: string): Rules => {
    try {
      return rulesFor(book, service, type, topic)
    } catch (error) {
      if (!started) throw error
      trouble(error as Error)
      return rulesFor(withoutPolicyFor(book), service, type, topic)
    }
  }
  let started = false
  const { consumerGroup, window, lease, demand, concurrency, transactions } = serviceRules(book, service)

  const byTopic = new Map<string, string[]>()
  for (const pattern of patterns) {
    for (const topic of topicsOf(book, service, pattern, transport)) {
      const types = byTopic.get(topic)
      if (types) types.push(pattern)
      else byTopic.set(topic, [pattern])
    }
  }

  const subscriptions = [...byTopic].map(([topic, types]): Subscription => {
    const events = rowsWithin(book, service, types)
    const ordered = events.filter((type) => rulesOf(topic, type).order === 'key')
    if (ordered.length > 0) checkOrder(service, ordered[0]!, transport, companion)
    const mixed = ordered.length > 0 && ordered.length < events.length
    const others = events.filter((type) => !ordered.includes(type))
    const urgent = events.filter((type) => isUrgent(rulesOf(topic, type).priority))
    return {
      service,
      topic,
      consumerGroup,
      types,
      order: ordered.length === 0 ? 'none' : 'key',
      ...(mixed && { ordering: { types: ordered, others } }),
      ...(urgent.length > 0 && {
        urgency: { types: urgent, others: events.filter((type) => !urgent.includes(type)) },
      }),
      lease,
      window,
      ...(demand && { poll: demand.poll }),
      ...(transactions && { transactions }),
      destinations: destinationsFor(book, service, types, topic),
      ledgerKey: (parcel, redelivered) =>
        handlerOf(types, parcel.event.type) === undefined
          ? undefined
          : ledgerKeyOf(rulesOf(topic, parcel.event.type), parcel, redelivered, named),
    }
  })

  /** A type that a more exact handler of this service takes at another topic is skipped here. */
  const handlerOf = (types: readonly string[], type: string): string | undefined => {
    let best = bests.get(type)
    if (best === undefined) {
      best = bestMatch(patterns, type)
      if (best === undefined) return undefined
      if (bests.size < MOST_REMEMBERED) bests.set(type, best)
    }
    return types.includes(best) ? best : undefined
  }

  started = true
  return {
    subscriptions,
    handlerOf: (subscription, type) => handlerOf(subscription.types, type),
    rulesOf,
    // gulps of half a window, where nobody says better: single deliveries would cost a round trip or a commit each
    demand: demand
      ? { low: Math.min(demand.min * concurrency, window - 1), atOnce: demand.atOnce }
      : { low: window / 2, atOnce: Number.POSITIVE_INFINITY },
    varied: isVaried(book, service),
  }
}

const isVaried = (book: RuleBook, service: string): boolean => {
  const own = book.services.get(service)
  const rows = Object.values(own?.events ?? {})
  return (
    [book.defaults, own, ...rows].some((says) => says?.priority !== undefined) ||
    rows.some(({ concurrency }) => concurrency !== undefined)
  )
}

/** Kept by the transport itself, or by the companion where events arrive there in order. */
const checkOrder = (
  service: string,
  event: string,
  { name, can }: { readonly name: string; readonly can: Can },
  companion: { readonly can: Can } | undefined,
): void => {
  if (can.order === 'key' || (can.order === 'owner' && companion?.can.order === 'key')) return
  const asked = `${service} asks for order: key on ${event}`
  if (can.order === 'owner') {
    throw new ReprieveError('no_order', `${asked}, which ${name} keeps only with a store to hold keys in`, {
      fix: 'give it store: postgres://… (on one host sqlite:… will do), or set order: none for this event',
    })
  }
  throw new ReprieveError('no_order', `${asked}, which ${name} can't keep`, {
    fix: 'run it on sqlite: or postgres:, or set order: none for this event',
  })
}

const topicsOf = (
  book: RuleBook,
  service: string,
  pattern: string,
  transport: { readonly name: string; readonly can: Can },
): readonly string[] => {
  const topics = topicsFor(book, pattern, transport.can.patterns)
  if (topics.length > 0) return topics
  throw new ReprieveError(
    'bad_rules',
    `${service} handles ${pattern}, and no declared topic carries such events`,
    {
      fix: `${transport.name} needs declared topics: add \`topics: { my-topic: ['${pattern}'] }\` to the rule book`,
    },
  )
}
