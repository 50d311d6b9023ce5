import type { Address, Destination, Subscription } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { isInOrder, type Ordering } from '../../core/ordering.ts'
import { type Urgency, urgentTypes } from '../../core/rank.ts'
import type { Millis } from '../../core/time.ts'

/** A row of `subscription`: one consumer's door, or a destination, which is a door of its own kind. */
export interface Door {
  readonly id: number
  readonly kind: 'subscription' | 'destination'
  readonly topic: string
  /** As it is kept: tells one from another. */
  readonly terms: string
  readonly ordered: boolean
  /** Tells one ordering from another. */
  readonly order: string
  /** Whether events of this type are ordered by key. */
  readonly inOrder: (type: string) => boolean
  /** Tells one urgency from another. */
  readonly urgency: string
  /** Whether events of this type are urgent, where they don't say. */
  readonly urges: (type: string) => boolean
  readonly expire: Millis | undefined
  readonly wants: (type: string) => boolean
}

/** What is kept of a door, as JSON. */
interface Terms {
  readonly service: string
  readonly topic: string
  readonly consumerGroup?: string
  readonly types: readonly string[]
  readonly ordered?: true
  readonly ordering?: Ordering
  readonly urgency?: Urgency
  readonly expire?: Millis
}

export const termsOf = (to: Subscription): string => {
  const { service, topic, consumerGroup, types, ordering, urgency } = to
  const terms: Terms = {
    ...{ service, topic, consumerGroup, types },
    ...(to.order === 'key' && { ordered: true }),
    ...(ordering && { ordering }),
    ...(urgency && { urgency }),
  }
  return JSON.stringify(terms)
}

export const termsOfDestination = ({ name, expire }: Destination): string => {
  const terms: Terms = { service: '', topic: name, types: ['*'], ...(expire !== undefined && { expire }) }
  return JSON.stringify(terms)
}

export const doorOf = (id: number, kind: Door['kind'], text: string): Door => {
  const { topic, types, ordered = false, ordering, urgency, expire } = JSON.parse(text) as Terms
  return {
    id,
    kind,
    topic,
    terms: text,
    ordered,
    order: JSON.stringify([ordered, ordering ?? null]),
    inOrder: (type) => ordered && isInOrder(ordering, type),
    urgency: JSON.stringify(urgency ?? null),
    urges: urgentTypes(urgency),
    expire,
    wants: wantsOf(types),
  }
}

const wantsOf = (patterns: readonly string[]): Door['wants'] => {
  const exact = new Set(patterns)
  const open = patterns.filter((pattern) => pattern.endsWith('*'))
  return (type) => exact.has(type) || open.some((pattern) => covers(pattern, type))
}

/** A name, or every name with the beginning before the `*`. */
export const covers = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name

export const unheard = (topic: string, type: string): ReprieveError => {
  const which = type === topic ? '' : ` for events of type '${type}'`
  return new ReprieveError(
    'unheard',
    `nobody is subscribed to topic '${topic}'${which}, so nothing was published`,
    { fix: 'start the service that handles it once, so that its subscription exists, or correct the name' },
  )
}

export const unknown = ({ service, topic }: Omit<Address, 'consumerGroup'>): ReprieveError =>
  new ReprieveError('unknown_subscription', `service '${service}' has no subscription to topic '${topic}'`, {
    fix: 'start the service once with a handler for that topic, or correct the name',
  })
