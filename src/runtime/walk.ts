import type { About } from '../contracts/journal.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Inlet, Subscription } from '../contracts/transport.ts'
import { expiryOf } from '../core/expiry.ts'
import type { Failure, Kind } from '../core/failure.ts'
import type { Claim, Held } from '../core/ledger.ts'
import type { Poison } from '../core/poison.ts'
import type { Instant } from '../core/time.ts'
import { extendTrail, type Trail } from '../core/trail.ts'
import { decide, type Outcome, type Verdict } from '../core/verdict.ts'
import type { Rules } from '../rules/index.ts'
import { about } from './about.ts'
import { afterTx, CONFLICT, createReminder } from './after-tx.ts'
import type { Astray } from './astray.ts'
import { attempt, type Registered } from './attempt.ts'
import { asSingle } from './batch-context.ts'
import type { Batches } from './batches.ts'
import { type AtHand, createContext, type Surroundings } from './context.ts'
import type { Deadlines } from './deadline.ts'
import type { Guards, Refused } from './guards.ts'
import { heldUp, tellGuard } from './held.ts'
import type { Slot } from './lanes.ts'
import { createOvertaken, type Ended } from './overtaken.ts'
import type { Plan } from './plan.ts'
import type { Settler, Step } from './settle.ts'
import { ackOf, stepFor } from './step.ts'
import type { Suspects } from './suspects.ts'
import { tell } from './tell.ts'

/** The door an event came in by, and what hangs on it. */
export interface Door {
  readonly subscription: Subscription
  /** The name of the app's transport, whichever inlet this one is. */
  readonly transport: string
  /** The longest wait this inlet's transport keeps by itself. */
  readonly later: number
  /** There is a companion for longer ones. */
  readonly companion: boolean
  readonly settler: Settler
  readonly inlet: Inlet
  /** Transactions can be part of its settlements: they are in the same database. */
  readonly settles: boolean
  /** It is an inlet of the app's transport, not of the companion. */
  readonly direct: boolean
  /** Claims of its deliveries are in the ledger of the app's store. */
  readonly own: boolean
}

export interface WalkOptions extends Pick<Surroundings, 'publish' | 'make' | 'transact' | 'timeoutOf'> {
  readonly plan: Plan
  readonly handlers: ReadonlyMap<string, Registered>
  readonly deadlines: Deadlines
  readonly tools: Tools
  /** Aborts when the service can wait no longer for its handlers. */
  readonly abandon: AbortSignal
  readonly guards: Guards
  readonly suspects: Suspects
  /** Before a suspect is run: marks its claim, and answers whether it is still ours. */
  readonly begin: (held: Held) => Promise<boolean>
  /** Its claim was taken from us, though we live. Never rejects. */
  readonly lost: (delivery: Delivery) => Promise<void>
  /** There where a handler takes its events together. */
  readonly batches?: Batches | undefined
  readonly astray: Astray
}

/**
 * The walk of one delivery, from the claim to its settlement; its slot is told when the handler has ended and when all
 * has, and `leave` is called before that. Never throws.
 */
export const createWalk = (options: WalkOptions) => {
  const { plan, handlers, deadlines, guards, abandon, suspects } = options
  const { clock, dice, journal } = options.tools
  const remind = createReminder(options.tools)
  const overtaken = createOvertaken(clock.now)
  const surroundings = { ...options, journal, now: clock.now }

  const goAstray = (thrown: unknown, delivery: Delivery, door: Door, slot: Slot, leave: () => void): void => {
    slot.handled()
    options.astray(thrown, delivery, door, () => {
      leave()
      slot.ended()
    })
  }

  const go = (delivery: Delivery, door: Door, slot: Slot, leave: () => void): void => {
    const { subscription } = door
    const { parcel, claim } = delivery
    const { topic } = subscription
    const fact = () => about(subscription.service, topic, parcel.event)
    let at: AtHand | undefined
    const settle = (step: Step, told: () => void, ended?: Ended): void =>
      door.settler.settle(step, (settled) => {
        if (settled === 'done' || at?.tx?.acked) told()
        else {
          journal({ at: clock.now(), is: 'lost', ...fact() })
          if (settled === 'lost' && ended) overtaken.remember(topic, parcel, ended)
        }
        if (settled === 'lost' && claim?.is === 'fresh') {
          return void options.lost(delivery).then(() => {
            leave()
            slot.ended()
          })
        }
        leave()
        slot.ended()
      })

    const pattern = plan.handlerOf(subscription, parcel.event.type) ?? fallback(delivery, subscription)
    const registered = pattern === undefined ? undefined : handlers.get(pattern)
    const { type } = parcel.event
    const rules = plan.rulesOf(topic, registered ? type : subscription.types[0]!)
    const began = clock.now()
    /** It dies of what is known of it, and its handler is not run. */
    const buryUnrun = (verdict: Death, held?: Held): void => {
      slot.handled()
      const { failure } = verdict
      const tried = { at: began, number: parcel.trail.spent + 1, took: 0 }
      const plain = stepFor(verdict, delivery, rules, door, began)
      const step = held ? { ...plain, held } : plain
      journal({ at: began, is: 'failed', attempt: tried.number, took: 0, failure, ...fact() })
      settle(step, () => tell(journal, verdict, step, fact(), tried))
    }
    if (!registered) {
      // the office waits for what becomes of a replay, and nobody else has the event any more
      if (parcel.trail.replay) return void buryUnrun(unhandled(fact(), parcel.trail, began))
      // passed by it would be gone, and nobody would ever take it
      if (delivery.untyped && type === topic) return void buryUnrun(nameless(fact(), parcel.trail, began))
      journal({ at: began, is: 'skipped', ...fact() })
      return void settle({ do: 'ack', delivery }, nothing)
    }
    if (claim?.is === 'conflict') return void buryUnrun(conflicting(parcel.trail, began))
    if (claim && claim.is !== 'fresh') {
      return void settle(afterClaim(delivery, claim, rules, door, began), () =>
        journal({ at: clock.now(), is: claim.is === 'done' ? 'duplicate' : claim.is, ...fact() }),
      )
    }

    const held = claim?.held
    at = { delivery, rules, topic, door, tx: undefined }
    /** Poison is looked for first: what is quarantined would often have died of its last attempt as well. */
    const verdictOn = (outcome: Outcome, now: Instant): Verdict => {
      if (outcome.is === 'done') {
        suspects.succeeded(rules, registered.pattern, parcel.event)
        return DONE
      }
      if (outcome.is === 'failed' && outcome.failure.category !== 'permanent') {
        const found = suspects.failed(rules, topic, registered.pattern, parcel.event, outcome.failure)
        if (found) return quarantined(found, outcome.failure, parcel.trail, now)
      }
      const limits = { policy: rules.policy, expires: expiryOf(parcel.event, rules.ttl) }
      return decide(limits, parcel.trail, outcome, now, dice.next)
    }
    const conclude = (outcome: Outcome, since = began): void => {
      try {
        const now = clock.now()
        const took = now - since
        const number = parcel.trail.spent + 1
        const verdict = verdictOn(outcome, now)
        carryOut({ verdict, took }, now, () => {
          if (outcome.is !== 'failed' && outcome.is !== 'refused') return
          journal({ at: now, is: 'failed', attempt: number, took, failure: outcome.failure, ...fact() })
        })
      } catch (error) {
        goAstray(error, delivery, door, slot, leave)
      }
    }
    const carryOut = (ended: Ended, now: Instant, first: () => void): void => {
      const { verdict, took } = ended
      const plain =
        verdict.do === 'done' ? ackOf(delivery, 'done', now) : stepFor(verdict, delivery, rules, door, now)
      const step = held ? { ...plain, held } : plain
      first()
      const told = () => {
        if (at?.tx?.is === 'before') journal({ at: now, is: 'duplicate', ...fact() })
        else tell(journal, verdict, step, fact(), { at: now, number: parcel.trail.spent + 1, took })
      }
      // what is done the ledger knows; what is put off, or failed only because another had it, is to be run again anyway
      const known = verdict.do === 'hold' || (verdict.do === 'done' && held !== undefined) || at?.tx?.lost
      // a claim that is kept elsewhere was not part of the commit
      if (!at?.tx?.acked || held?.key.store !== undefined)
        return void settle(step, told, known ? undefined : ended)
      told()
      leave()
      slot.ended()
    }
    const crashes = claim?.crashes ?? 0
    const killer = crashes > 0 && suspects.crashed(rules, topic, registered.pattern, parcel, crashes)
    if (killer) return void buryUnrun(quarantined(killer, crash(killer), parcel.trail, began), held)
    // what was surely never handed over is another one with the same id: the one that is known went to someone else
    const before = held || delivery.redelivered ? overtaken.recall(topic, parcel) : undefined
    if (before) {
      slot.handled()
      return void carryOut(before, began, nothing)
    }
    const putOff = (refused: Refused): void => {
      slot.handled()
      conclude(heldUp(refused, began))
    }

    // what was cut short by us is as if it had never begun
    const handBack = (): void => settle({ do: 'give back', delivery, ...(held && { held }) }, nothing)
    if (registered.together && crashes === 0) {
      return void options.batches!.enter({ delivery, rules, topic, registered, slot, conclude, handBack })
    }
    const single = registered.together ? asSingle(registered) : registered

    const admitted = guards.admit(rules, registered.pattern, parcel.trail.spent > 0)
    if ('by' in admitted) return void putOff(admitted)
    const hand = at
    const context = (signal: () => AbortSignal) => createContext(surroundings, hand, signal)
    const trying = { delivery, registered: single, rules, deadlines, stop: abandon, now: clock.now, context }
    const after = (first: Outcome): void => {
      try {
        slot.handled()
        const outcome = hand.tx ? afterTx(hand.tx, first, registered.pattern, options.tools) : first
        if (!hand.tx && rules.idempotency.pattern === 'transaction' && outcome.is === 'done')
          remind(rules.service, registered.pattern)
        const cutShort = outcome.is === 'failed' && abandon.aborted
        tellGuard(admitted, outcome, cutShort)
        if (cutShort) handBack()
        else conclude(outcome)
      } catch (error) {
        goAstray(error, delivery, door, slot, leave)
      }
    }
    if (crashes === 0) return void attempt(trying, after)

    journal({ at: began, is: 'alone', crashes, ...fact() })
    const notRun = (): void => {
      slot.handled()
      admitted.ignore()
    }
    const begun = options.begin(held!).then(
      (ours) => {
        if (ours) return attempt(trying, after)
        notRun()
        settle({ do: 'give back', delivery, held: held! }, nothing)
      },
      (error: Error) => {
        journal({ at: clock.now(), is: 'trouble', where: 'the ledger', error, retryIn: UNMARKED })
        notRun()
        conclude({ is: 'put off', delay: UNMARKED, because: 'its beginning could not be marked' })
      },
    )
    begun.catch((error) => goAstray(error, delivery, door, slot, leave))
  }

  return (delivery: Delivery, door: Door, slot: Slot, leave: () => void): void => {
    try {
      go(delivery, door, slot, leave)
    } catch (error) {
      goAstray(error, delivery, door, slot, leave)
    }
  }
}

/** How long a suspect waits where the ledger could not be told that it begins: unmarked it must not run. */
const UNMARKED = 1000

const nothing = (): void => {}

/** What `decide` says of it too, made once: most events end so. */
const DONE: Verdict = { do: 'done' }

const crash = ({ because }: Poison): Failure => ({
  category: 'unknown',
  kind: 'crash',
  name: 'Crash',
  message: because,
  because,
})

type Death = Extract<Verdict, { readonly do: 'dead' | 'quarantine' }>

const conflicting = (trail: Trail, now: Instant): Death => ({
  do: 'dead',
  reason: 'conflict',
  failure: CONFLICT,
  trail: extendTrail(trail, CONFLICT, now),
})

const unhandled = ({ service, type }: About, trail: Trail, now: Instant): Death =>
  untaken(
    'business',
    `${service} has no handler that takes '${type}' there`,
    'a replay has to be handled, or it stays dead',
    trail,
    now,
  )

const nameless = ({ service, type }: About, trail: Trail, now: Instant): Death =>
  untaken(
    'schema',
    `it names no type of its own, and ${service} has no handler that takes '${type}'`,
    'what names no type has that of its topic',
    trail,
    now,
  )

const untaken = (kind: Kind, message: string, because: string, trail: Trail, now: Instant): Death => {
  const failure: Failure = { category: 'permanent', kind, name: 'Unhandled', message, because }
  return { do: 'dead', reason: 'permanent', failure, trail: extendTrail(trail, failure, now) }
}

const quarantined = (found: Poison, failure: Failure, trail: Trail, now: Instant): Death => ({
  do: 'quarantine',
  reason: 'poison',
  failure: { ...failure, because: found.because },
  trail: extendTrail(trail, failure, now),
})

/** A broken record has no type of its own: it is treated by the rules of whoever is subscribed there. */
const fallback = (delivery: Delivery, subscription: Subscription): string | undefined =>
  delivery.broken === undefined ? undefined : subscription.types[0]

type Known = Exclude<Claim, { readonly is: 'fresh' | 'conflict' }>

/** The ledger knows the event already: done and stale need no more; busy waits, and spends nothing. */
const afterClaim = (delivery: Delivery, claim: Known, rules: Rules, door: Door, now: Instant): Step => {
  if (claim.is === 'busy') {
    return stepFor({ do: 'hold', due: claim.until, because: 'busy' }, delivery, rules, door, now)
  }
  return claim.is === 'done' ? ackOf(delivery, 'already done', now) : { do: 'ack', delivery }
}
