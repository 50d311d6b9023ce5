import type { Journal } from '../contracts/journal.ts'
import type { Delivery } from '../contracts/transport.ts'
import type { Instant } from '../core/time.ts'
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
 * The signal is made when it is looked at. The getter stands here, once: one in each context would give each a shape
 * of its own, which the engine keeps, and with it the event, until its next full collection.
 */
class Stoppable {
  readonly #signal: () => AbortSignal

  constructor(signal: () => AbortSignal) {
    this.#signal = signal
  }

  get signal(): AbortSignal {
    return this.#signal()
  }
}

/** What a handler is given beside the event. */
export const createContext = (
  around: Surroundings,
  { delivery, rules, topic }: AtHand,
  signal: () => AbortSignal,
): Context => {
  const { event, trail } = delivery.parcel
  return Object.assign(new Stoppable(signal), {
    attempt: trail.spent + 1,
    trail,
    idempotencyKey: event.headers['x-idempotency-key'] ?? event.id,
    log: (text, fields = {}) =>
      around.journal({ at: around.now(), is: 'log', text, fields, ...about(rules.service, topic, event) }),
    call: async (dependency, fn) =>
      within(around.deadlines, around.timeoutOf(dependency), `the call to ${dependency}`, signal(), (own) =>
        fn(own()),
      ),
    publish: (type, data, publishOptions = {}) =>
      around.publish(type, data, {
        source: rules.service,
        correlationId: event.extensions.correlationid ?? event.id,
        ...publishOptions,
      }),
  } satisfies Omit<Context, 'signal'>)
}
