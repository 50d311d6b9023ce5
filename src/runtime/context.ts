import type { Journal } from '../contracts/journal.ts'
import type { Delivery } from '../contracts/transport.ts'
import type { Instant } from '../core/time.ts'
import type { Trail } from '../core/trail.ts'
import type { Rules } from '../rules/index.ts'
import { about } from './about.ts'
import { type Deadlines, within } from './deadline.ts'
import type { Context, PublishOptions } from './handler.ts'

/** The same for all attempts of a service. */
export interface Surroundings {
  readonly deadlines: Deadlines
  readonly journal: Journal
  readonly now: () => Instant
  readonly publish: (type: string, data: unknown, options: PublishOptions) => Promise<string>
  readonly timeoutOf: (dependency: string) => number
}

export interface AtHand {
  readonly delivery: Delivery
  readonly rules: Rules
  readonly topic: string
}

/**
 * What a handler is given beside the event. The signal is made when it is looked at. Its getter stands in a class, once:
 * one in each context would give each a shape of its own, which the engine keeps, and with it the event, until its next
 * full collection.
 */
export const createContext = (around: Surroundings, at: AtHand, signal: () => AbortSignal): Context =>
  new Attempting(around, at, signal)

class Attempting implements Context {
  readonly attempt: number
  readonly trail: Trail
  readonly idempotencyKey: string
  readonly log: Context['log']
  readonly call: Context['call']
  readonly publish: Context['publish']
  readonly #signal: () => AbortSignal

  constructor(around: Surroundings, { delivery, rules, topic }: AtHand, signal: () => AbortSignal) {
    const { event, trail } = delivery.parcel
    this.attempt = trail.spent + 1
    this.trail = trail
    this.idempotencyKey = event.headers['x-idempotency-key'] ?? event.id
    this.log = (text, fields = {}) =>
      around.journal({ at: around.now(), is: 'log', text, fields, ...about(rules.service, topic, event) })
    this.call = async (dependency, fn) =>
      within(around.deadlines, around.timeoutOf(dependency), `the call to ${dependency}`, signal(), (own) =>
        fn(own()),
      )
    this.publish = (type, data, options = {}) =>
      around.publish(type, data, {
        source: rules.service,
        correlationId: event.extensions.correlationid ?? event.id,
        ...options,
      })
    this.#signal = signal
  }

  get signal(): AbortSignal {
    return this.#signal()
  }
}
