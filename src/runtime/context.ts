import type { Journal } from '../contracts/journal.ts'
import { classify } from '../core/classify.ts'
import { Timeout } from '../core/errors.ts'
import type { Event } from '../core/event.ts'
import { idempotencyKeyOf } from '../core/idempotency-key.ts'
import type { Instant } from '../core/time.ts'
import type { Trail } from '../core/trail.ts'
import { about } from './about.ts'
import { type Deadlines, within } from './deadline.ts'
import type { Guards } from './guards.ts'
import type { Context, PublishOptions } from './handler.ts'
import { CallRefused } from './held.ts'
import { checkPublishing } from './publish.ts'
import { type InHand, publishedAfter, type Transact } from './transact.ts'

/** The same for all attempts of a service. */
export interface Surroundings {
  readonly deadlines: Deadlines
  readonly journal: Journal
  readonly now: () => Instant
  readonly publish: (type: string, data: unknown, options: PublishOptions) => Promise<string>
  readonly make: (type: string, data: unknown, options: PublishOptions) => Event
  readonly transact: Transact
  readonly guards: Guards
  readonly timeoutOf: (dependency: string, operation?: string) => number
}

export interface AtHand extends InHand {
  readonly topic: string
}

/**
 * What a handler is given beside the event. The signal is made when it is looked at, and so are the functions, which may
 * be taken out of the context like any other value. Their getters stand in a class, once: functions of its own would
 * give each context a shape of its own, which the engine keeps, and with it the event, until its next full collection.
 */
export const createContext = (around: Surroundings, at: AtHand, signal: () => AbortSignal): Context =>
  new Attempting(around, at, signal)

class Attempting implements Context {
  readonly attempt: number
  readonly trail: Trail
  readonly idempotencyKey: string
  readonly #around: Surroundings
  readonly #at: AtHand
  readonly #signal: () => AbortSignal

  constructor(around: Surroundings, at: AtHand, signal: () => AbortSignal) {
    const { event, trail } = at.delivery.parcel
    this.attempt = trail.spent + 1
    this.trail = trail
    this.idempotencyKey = idempotencyKeyOf(at.rules.idempotency.key, event)
    this.#around = around
    this.#at = at
    this.#signal = signal
  }

  get signal(): AbortSignal {
    return this.#signal()
  }

  get log(): Context['log'] {
    const { journal, now } = this.#around
    const { delivery, rules, topic } = this.#at
    return (text, fields = {}) =>
      journal({
        at: now(),
        is: 'log',
        text,
        fields,
        ...about(rules.service, topic, delivery.parcel.event),
      })
  }

  get call(): Context['call'] {
    const { deadlines, timeoutOf, guards, now } = this.#around
    const { overrides } = this.#at.rules
    return async (dependency, fn, operation) => {
      const entered = guards.enter(dependency, this.attempt > 1)
      if ('by' in entered) throw new CallRefused(entered, now())
      const ms = timeoutOf(dependency, operation)
      try {
        const value = await within(deadlines, ms, `the call to ${dependency}`, this.signal, (own) =>
          fn(own()),
        )
        entered.success()
        return value
      } catch (error) {
        // what we cut short ourselves, and what the other side rightly refused, says nothing of its health
        if (this.#isStopped() || classify(error, overrides, now()).category === 'permanent') entered.ignore()
        else entered.failure()
        throw error
      }
    }
  }

  #isStopped(): boolean {
    const { signal } = this
    return signal.aborted && !(signal.reason instanceof Timeout)
  }

  get publish(): Context['publish'] {
    const { event } = this.#at.delivery.parcel
    return async (type, data, options = {}) => {
      checkPublishing(type, options)
      const whole = {
        source: this.#at.rules.service,
        correlationId: event.extensions.correlationid ?? event.id,
        ...options,
      }
      const { tx } = this.#at
      // what goes on inside of a transaction when its time is over does not know that all of it was undone
      if (tx?.is === 'undone' && options.tx === undefined && this.signal.aborted) throw this.signal.reason
      if (!tx || tx.is === 'undone' || options.tx !== undefined)
        return this.#around.publish(type, data, whole)
      if (tx.is !== 'running') throw publishedAfter(type)
      const made = this.#around.make(type, data, whole)
      tx.events.push(made)
      return made.id
    }
  }

  get tx(): Context['tx'] {
    return (fn) => {
      const running = this.#around.transact(this.#at, fn, this.#signal)
      // whoever does not wait for it is told as its failure; nobody's process should end by that
      running.catch(() => {})
      return running
    }
  }
}
