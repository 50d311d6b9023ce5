import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Inlet, Transport } from '../contracts/transport.ts'
import { idempotencyKeyOf } from '../core/idempotency-key.ts'
import type { DeathReason } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'
import type { Trail } from '../core/trail.ts'
import { decide, type Outcome, type Verdict } from '../core/verdict.ts'
import { about } from './about.ts'
import { attempt } from './attempt.ts'
import { createBag } from './bag.ts'
import type { Reception } from './client-options.ts'
import type { Deadlines } from './deadline.ts'
import type { Context, Handled, Reply, Schema } from './handler.ts'
import { createSettler, type Step } from './settle.ts'
import { stepFor } from './step.ts'
import { tell } from './tell.ts'

/** An event that is ours until it is settled by its receipt, or its time is over. */
export interface Message<Data> {
  /** For `acknowledge`, `reject` and `giveBack` of the client that it came from. */
  readonly receipt: string
  readonly event: Handled<Data>
  /** Which attempt this is; the first is 1. */
  readonly attempt: number
  /** It may have been handed over before, without having been settled. */
  readonly redelivered: boolean
  readonly trail: Trail
  /** The same for every attempt and replay of this event: hand it to whoever can use it. */
  readonly idempotencyKey: string
  /** Aborts when it is no longer ours. */
  readonly signal: AbortSignal
}

/** lost: it was no longer ours, and nothing was changed. */
export type Ended =
  | { readonly is: 'done' | 'given back' | 'lost' }
  | { readonly is: 'later'; readonly due: Instant }
  | { readonly is: 'dead'; readonly letter: string; readonly reason: DeathReason; readonly to: string }

export interface Hold<Data> {
  /** Makes messages of deliveries. What can't be read, or comes too late, is buried here. */
  admit(deliveries: readonly Delivery[]): Promise<readonly Message<Data>[]>
  end(receipt: string, how: How): Promise<Ended>
  /** What is out, to be kept ours. */
  values(): readonly Delivery[]
  /** Gives back all that is still held. */
  close(): Promise<void>
}

export type How = { readonly reply: Reply } | { readonly error: unknown } | 'give back'

interface Held {
  answer(how: How): void
  readonly ended: Promise<Ended>
}

export interface HoldOptions<Data> {
  readonly reception: Reception
  readonly schema: Schema<Data> | undefined
  readonly transport: Transport
  readonly inlet: Inlet
  readonly deadlines: Deadlines
  readonly tools: Tools
}

/**
 * To hold a message is an attempt like any other, except that its handler is whoever received it: by `acknowledge` it
 * returns, by `reject` it throws. So messages are read, timed, judged and buried by the same rooms as in a service.
 */
export const createHold = <Data>(options: HoldOptions<Data>): Hold<Data> => {
  const { reception, transport, inlet, deadlines, tools } = options
  const { subscription, rulesOf } = reception
  const { clock, dice, journal } = tools
  const { service, topic } = subscription
  // beside a client stands no store: what the transport can't keep for so long waits there again and again
  const door = {
    subscription,
    transport: transport.name,
    later: transport.can.later,
    companion: false,
  }
  const settler = createSettler({
    address: subscription,
    inlet,
    ledger: undefined,
    companion: undefined,
    tools,
  })
  const out = createBag<Delivery>()
  const messages = new Map<string, Held>()
  const stop = new AbortController()

  const admitOne = (delivery: Delivery): Promise<Message<Data> | undefined> =>
    new Promise((given) => {
      const { event, trail } = delivery.parcel
      const rules = rulesOf(event.type)
      const leave = out.add(delivery)
      const began = clock.now()
      const ended = Promise.withResolvers<Ended>()
      const receipt = dice.uuid()
      let signal: () => AbortSignal
      /** undefined: it was never handed over, or nobody had a say. */
      let how: How | undefined
      let handedOver = false

      const handle = (handled: Handled<unknown>): Promise<Reply> =>
        new Promise((resolve, reject) => {
          const answer = (said: How) => {
            how = said
            if (said === 'give back') reject(new Error('given back'))
            else if ('reply' in said) resolve(said.reply)
            else reject(said.error)
          }
          handedOver = true
          messages.set(receipt, { answer, ended: ended.promise })
          given({
            receipt,
            event: handled as Handled<Data>,
            attempt: trail.spent + 1,
            redelivered: delivery.redelivered,
            trail,
            idempotencyKey: idempotencyKeyOf(rules.idempotency.key, event),
            get signal() {
              return signal()
            },
          })
        })

      const conclude = (outcome: Outcome): void => {
        const back = handedOver ? how === undefined || how === 'give back' : stop.signal.aborted
        messages.delete(receipt)
        given(undefined)
        const at = clock.now()
        const number = trail.spent + 1
        const took = at - began
        const fact = about(service, topic, event)
        if (!back && (outcome.is === 'failed' || outcome.is === 'refused'))
          journal({ at, is: 'failed', attempt: number, took, failure: outcome.failure, ...fact })
        const verdict = back ? undefined : decide(rules, trail, outcome, at, dice.next)
        const step: Step = verdict
          ? stepFor(verdict, delivery, rules, door, at)
          : { do: 'give back', delivery }
        settler.settle(step, (settled) => {
          leave()
          if (settled instanceof Error) return void ended.reject(settled)
          if (settled === 'lost') journal({ at: clock.now(), is: 'lost', ...fact })
          else if (verdict) tell(journal, verdict, step, fact, { at, number, took })
          ended.resolve(settled === 'lost' ? { is: 'lost' } : endOf(verdict, step))
        })
      }
      // nobody may be waiting to hear how it ended
      ended.promise.catch(() => {})

      const context = (own: () => AbortSignal): Context => {
        signal = own
        return NOBODY_LOOKS
      }
      const registered = { pattern: topic, schema: options.schema, handle }
      attempt(
        { delivery, registered, rules, deadlines, stop: stop.signal, now: clock.now, context },
        conclude,
      )
    })

  return {
    admit: async (deliveries) => {
      const admitted = await Promise.all(deliveries.map(admitOne))
      return admitted.filter((message) => message !== undefined)
    },
    end: async (receipt, how) => {
      const held = messages.get(receipt)
      if (!held) return { is: 'lost' }
      // the first word counts
      messages.delete(receipt)
      held.answer(how)
      return held.ended
    },
    values: () => out.values(),
    close: async () => {
      stop.abort(new Error('the client was closed'))
      await settler.idle()
    },
  }
}

/** A message has no context: what it needs it carries itself. */
const NOBODY_LOOKS = {} as Context

const endOf = (verdict: Verdict | undefined, step: Step): Ended => {
  if (step.do === 'bury' && verdict && 'reason' in verdict)
    return { is: 'dead', letter: step.letter.id, reason: verdict.reason, to: step.to }
  if (step.do === 'later') return { is: 'later', due: step.parcel.due }
  return { is: step.do === 'ack' ? 'done' : 'given back' }
}
