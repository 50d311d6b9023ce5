import type { About, Journal } from '../contracts/journal.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Settled, Subscription } from '../contracts/transport.ts'
import type { Failure } from '../core/failure.ts'
import { fingerprint } from '../core/fingerprint.ts'
import { type Receipt, writeLetter } from '../core/letter.ts'
import { route } from '../core/route.ts'
import { decide, type Verdict } from '../core/verdict.ts'
import type { Rules } from '../rules/index.ts'
import { about } from './about.ts'
import { attempt, type Registered } from './attempt.ts'
import { createContext } from './context.ts'
import type { Deadlines } from './deadline.ts'
import type { PublishOptions } from './handler.ts'
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

/** The walk of one delivery, from the claim to its settlement; `handled` once its handler has ended. Never rejects. */
export const createWalk = (options: WalkOptions) => {
  const { plan, handlers, deadlines, abandon } = options
  const { clock, dice, journal } = options.tools
  const surroundings = { ...options, journal, now: clock.now }

  return async (delivery: Delivery, door: Door, handled: () => void): Promise<void> => {
    const { subscription } = door
    const { parcel, claim } = delivery
    const fact = about(subscription.service, subscription.topic, parcel.event)
    const pattern = plan.handlerOf(subscription, parcel.event.type) ?? fallback(delivery, subscription)
    const registered = pattern === undefined ? undefined : handlers.get(pattern)
    const isDone = (settled: Settled): boolean => {
      if (settled !== 'done') journal({ at: clock.now(), is: 'lost', ...fact })
      return settled === 'done'
    }
    const { settle } = door.settler
    if (!registered) {
      journal({ at: clock.now(), is: 'skipped', ...fact })
      return void isDone(await settle({ do: 'ack', delivery }))
    }
    const rules = plan.rulesOf(subscription.topic, parcel.event.type)
    if (claim && claim.is !== 'fresh') {
      const step = afterClaim(delivery, rules, door, clock.now())
      if (isDone(await settle(step))) journal({ at: clock.now(), is: nameOf(claim.is), ...fact })
      return
    }

    const began = clock.now()
    const outcome = await attempt({
      delivery,
      registered,
      rules,
      deadlines,
      stop: abandon,
      now: clock.now,
      context: (signal) =>
        createContext(surroundings, { delivery, rules, topic: subscription.topic }, signal),
    })
    handled()
    const held = claim?.held
    if (outcome.is === 'failed' && abandon.aborted) {
      // it was cut short by us: as if it had never begun
      return void isDone(await settle({ do: 'give back', delivery, ...(held && { held }) }))
    }
    const now = clock.now()
    const number = parcel.trail.spent + 1
    const verdict = decide(rules, parcel.trail, outcome, now, dice.next)
    const step = held
      ? { ...stepFor(verdict, delivery, rules, door, now), held }
      : stepFor(verdict, delivery, rules, door, now)
    if (outcome.is === 'failed' || outcome.is === 'refused') {
      journal({
        at: now,
        is: 'failed',
        attempt: number,
        took: now - began,
        failure: outcome.failure,
        ...fact,
      })
    }
    if (isDone(await settle(step))) tell(journal, verdict, step, fact, { at: now, number, took: now - began })
  }
}

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
  const { destination, quarantine } = rules.deadLetter
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
