import { ReprieveError } from './error.ts'
import { isInOrder, type Ordering } from './ordering.ts'
import { matches } from './pattern.ts'
import { type Urgency, urgentTypes } from './rank.ts'

/** What a subscription asks of the events of its topic, as databases keep it. */
export interface Terms {
  readonly types: readonly string[]
  readonly ordered: boolean
  readonly ordering?: Ordering | undefined
  readonly urgency?: Urgency | undefined
}

/** The same, ready to be asked for each event. */
export interface Hearing {
  readonly ordered: boolean
  /** Tells one ordering from another. */
  readonly order: string
  /** Whether events of this type are ordered by key. */
  readonly inOrder: (type: string) => boolean
  /** Tells one urgency from another. */
  readonly urgency: string
  /** Whether events of this type are urgent, where they don't say. */
  readonly urges: (type: string) => boolean
  readonly wants: (type: string) => boolean
}

export const hearingOf = ({ types, ordered, ordering, urgency }: Terms): Hearing => {
  const exact = new Set(types)
  const open = types.filter((pattern) => pattern.endsWith('*'))
  return {
    ordered,
    order: JSON.stringify([ordered, ordering ?? null]),
    inOrder: (type) => ordered && isInOrder(ordering, type),
    urgency: JSON.stringify(urgency ?? null),
    urges: urgentTypes(urgency),
    wants: (type) => exact.has(type) || open.some((pattern) => matches(pattern, type)),
  }
}

export const unheard = (topic: string, type: string): ReprieveError => {
  const which = type === topic ? '' : ` for events of type '${type}'`
  return new ReprieveError(
    'unheard',
    `nobody is subscribed to topic '${topic}'${which}, so nothing was published`,
    { fix: 'start the service that handles it once, so that its subscription exists, or correct the name' },
  )
}

export const unknownSubscription = (to: {
  readonly service: string
  readonly topic: string
}): ReprieveError =>
  new ReprieveError(
    'unknown_subscription',
    `service '${to.service}' has no subscription to topic '${to.topic}'`,
    { fix: 'start the service once with a handler for that topic, or correct the name' },
  )
