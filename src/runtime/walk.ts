import type { About, Journal } from '../contracts/journal.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Subscription } from '../contracts/transport.ts'
import type { Failure } from '../core/failure.ts'
import { fingerprint } from '../core/fingerprint.ts'
import { type Receipt, writeLetter } from '../core/letter.ts'
import { route } from '../core/route.ts'
import { decide, type Verdict } from '../core/verdict.ts'
import { quarantineFor, type Rules } from '../rules/index.ts'
import { about } from './about.ts'
import { attempt, type Registered } from './attempt.ts'
import { createContext } from './context.ts'
import type { Deadlines } from './deadline.ts'
import type { PublishOptions } from './handler.ts'
import type { Slot } from './lanes.ts'
import type { Plan } from './plan.ts'
import type { Settler, Step } from './settle.ts'

/** The door an event came in by, and what hangs on it. */
export interface Door {
  readonly subscription: Subscription
  /** The name of the app's transport, whichever inlet this one is. */
  readonly transport: string
  /** The longest wait this inlet's transport keeps by itself. */
  readonly later: number
  readonly settler: Settler
}

export interface WalkOptions {
  readonly plan: Plan
  readonly handlers: ReadonlyMap<string, Registered>
  readonly deadlines: Deadlines
  readonly tools: Tools
  /** Aborts when the service can wait no longer for its handlers. */
  readonly abandon: AbortSignal
  readonly publish: (type: string, data: unknown, options: PublishOptions) => Promise<string>
  readonly timeoutOf: (dependency: string) => number
}

/**
 * The walk of one delivery, from the claim to its settlement; its slot is told when the handler has ended and when all
 * has, and `leave` is called before that. Never throws.
 */
export const createWalk = (options: WalkOptions) => {
  const { plan, handlers, deadlines, abandon } = options
  const { clock, dice, journal } = options.tools
  const surroundings = { ...options, journal, now: clock.now }

  return (delivery: Delivery, door: Door, slot: Slot, leave: () => void): void => {
    const { subscription } = door
    const { parcel, claim } = delivery
    const { topic } = subscription
    const fact = () => about(subscription.service, topic, parcel.event)
    const settle = (step: Step, told: () => void): void =>
      door.settler.settle(step, (settled) => {
        if (settled === 'done') told()
        else journal({ at: clock.now(), is: 'lost', ...fact() })
        leave()
        slot.ended()
      })

    const pattern = plan.handlerOf(subscription, parcel.event.type) ?? fallback(delivery, subscription)
    const registered = pattern === undefined ? undefined : handlers.get(pattern)
    if (!registered) {
      journal({ at: clock.now(), is: 'skipped', ...fact() })
      return void settle({ do: 'ack', delivery }, nothing)
    }
    const rules = plan.rulesOf(topic, parcel.event.type)
    if (claim && claim.is !== 'fresh') {
      return void settle(afterClaim(delivery, rules, door, clock.now()), () =>
        journal({ at: clock.now(), is: nameOf(claim.is), ...fact() }),
      )
    }

    const held = claim?.held
    const began = clock.now()
    const context = (signal: () => AbortSignal) =>
      createContext(surroundings, { delivery, rules, topic }, signal)
    const trying = { delivery, registered, rules, deadlines, stop: abandon, now: clock.now, context }
    attempt(trying, (outcome) => {
      slot.handled()
      if (outcome.is === 'failed' && abandon.aborted) {
        // it was cut short by us: as if it had never begun
        return void settle({ do: 'give back', delivery, ...(held && { held }) }, nothing)
      }
      const now = clock.now()
      const took = now - began
      const number = parcel.trail.spent + 1
      const verdict = decide(rules, parcel.trail, outcome, now, dice.next)
      const plain = stepFor(verdict, delivery, rules, door, now)
      const step = held ? { ...plain, held } : plain
      if (outcome.is === 'failed' || outcome.is === 'refused') {
        journal({ at: now, is: 'failed', attempt: number, took, failure: outcome.failure, ...fact() })
      }
      settle(step, () => tell(journal, verdict, step, fact(), { at: now, number, took }))
    })
  }
}

const nothing = (): void => {}

/** A broken record has no type of its own: it is treated by the rules of whoever is subscribed there. */
const fallback = (delivery: Delivery, subscription: Subscription): string | undefined =>
  delivery.broken === undefined ? undefined : subscription.types[0]

const nameOf = (is: 'busy' | 'done' | 'stale' | 'conflict') =>
  is === 'done' || is === 'conflict' ? 'duplicate' : is

const conflict: Failure = {
  category: 'permanent',
  kind: 'business',
  name: 'Conflict',
  message: 'an event with this id and another payload was seen before',
  because: 'the same id must mean the same event',
}

/** The ledger knows the event already: done and stale need no more; busy waits, and spends nothing. */
const afterClaim = (delivery: Delivery, rules: Rules, door: Door, now: number): Step => {
  const { parcel, claim } = delivery
  if (claim?.is === 'busy') {
    return stepFor({ do: 'hold', due: claim.until, because: 'busy' }, delivery, rules, door, now)
  }
  if (claim?.is === 'conflict') {
    const verdict = decide(
      rules,
      parcel.trail,
      { is: 'refused', reason: 'conflict', failure: conflict },
      now,
      () => 0,
    )
    return stepFor(verdict, delivery, rules, door, now)
  }
  return claim?.is === 'done' ? ackOf(delivery, 'already done', now) : { do: 'ack', delivery }
}

const stepFor = (verdict: Verdict, delivery: Delivery, rules: Rules, door: Door, now: number): Step => {
  const { destination, quarantine: aside } = rules.deadLetter
  const quarantine = verdict.do === 'quarantine' ? quarantineFor(aside, verdict.failure.kind) : aside
  const ways = { later: door.later, deadLetter: destination, quarantine }
  const way = route(verdict, delivery.parcel, ways, now)
  switch (way.do) {
    case 'ack':
      return ackOf(delivery, 'done', now)
    case 'later':
    case 'companion':
      return { do: way.do, delivery, parcel: way.parcel }
    case 'bury': {
      const { service, topic, consumerGroup } = door.subscription
      const where = { service, topic, consumerGroup, transport: door.transport }
      const { type } = delivery.parcel.event
      const death = {
        reason: way.reason,
        failure: way.failure,
        at: now,
        limit: rules.policy.retries + 1,
        fingerprint: fingerprint(way.failure, { service, topic, type }),
      }
      return {
        do: 'bury',
        delivery,
        to: way.to,
        letter: writeLetter({ ...delivery.parcel, trail: way.trail }, where, way.to, death),
      }
    }
  }
}

/** The office that replayed the event waits to hear how it ended; a death it hears of by the new letter. */
const ackOf = (delivery: Delivery, outcome: Receipt['outcome'], at: number): Step => {
  const { replay, spent } = delivery.parcel.trail
  if (!replay) return { do: 'ack', delivery }
  const receipt = { letter: replay.letter, to: replay.receiptTo, outcome, at, attempts: spent + 1 }
  return { do: 'ack', delivery, receipt }
}

const tell = (
  journal: Journal,
  verdict: Verdict,
  step: Step,
  fact: About,
  { at, number, took }: { readonly at: number; readonly number: number; readonly took: number },
): void => {
  if (verdict.do === 'done') journal({ at, is: 'done', attempt: number, took, ...fact })
  else if (verdict.do === 'retry')
    journal({ at, is: 'retry', attempt: number, delay: verdict.due - at, ...fact })
  else if (verdict.do === 'hold') {
    journal({ at, is: 'held', delay: verdict.due - at, because: verdict.because, ...fact })
  } else if (step.do === 'bury') {
    journal({ at, is: 'dead', letter: step.letter.id, reason: verdict.reason, to: step.to, ...fact })
  }
}
