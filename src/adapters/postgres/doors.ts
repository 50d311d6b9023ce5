import type { Destination, Subscription } from '../../contracts/transport.ts'
import { type Hearing, hearingOf } from '../../core/door.ts'
import type { Ordering } from '../../core/ordering.ts'
import type { Urgency } from '../../core/rank.ts'
import type { Millis } from '../../core/time.ts'

/** A row of `subscription`: one consumer's door, or a destination, which is a door of its own kind. */
export interface Door extends Hearing {
  readonly id: number
  readonly kind: 'subscription' | 'destination'
  readonly topic: string
  /** As it is kept: tells one from another. */
  readonly terms: string
  readonly expire: Millis | undefined
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
    expire,
    ...hearingOf({ types, ordered, ordering, urgency }),
  }
}
