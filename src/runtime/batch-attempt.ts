import { Timeout } from '../core/errors.ts'
import { expiryOf } from '../core/expiry.ts'
import type { Instant } from '../core/time.ts'
import type { Outcome } from '../core/verdict.ts'
import type { Batch, Rules } from '../rules/index.ts'
import { expired, failed, outcomeOf } from './attempt.ts'
import type { Departure } from './batch.ts'
import { createBatchContext } from './batch-context.ts'
import { BadAnswer, wentOf } from './batch-handler.ts'
import type { Surroundings } from './context.ts'
import { runWithin } from './deadline.ts'
import type { Entered, Refused } from './guards.ts'
import { heldUp } from './held.ts'
import type { Passenger } from './passenger.ts'

export interface BatchAttemptOptions extends Surroundings {
  readonly service: string
  /** Aborts when the service can wait no longer for its handlers. */
  readonly abandon: AbortSignal
  /** Tries one of a batch by itself, at once. */
  readonly again: (passenger: Passenger) => void
}

/** Runs a batch's handler under its deadline, and concludes for each event how it went. Never throws; `ended` is called once. */
export const attemptBatch = (
  options: BatchAttemptOptions,
  passengers: readonly Passenger[],
  batch: Batch,
  departed: Departure,
  ended: () => void,
): void => {
  const { deadlines, abandon, now } = options
  const began = now()
  const { going, permits } = admitted(options, stillWorth(passengers, began), began)
  const [first] = going
  if (!first) return void ended()
  const { pattern, together } = first.registered

  /** `whole`: the handler did not say how each of them went, but failed as a whole. */
  const conclude = (outcomes: readonly Outcome[], whole?: { readonly error: unknown }): void => {
    const cut = (outcome: Outcome) => outcome.is === 'failed' && abandon.aborted
    tellGuards(permits, outcomes, abandon.aborted)
    tellOf(options, going, outcomes, { batch, departed, began, timedOut: whole?.error instanceof Timeout })
    ended()
    for (const [i, passenger] of going.entries()) {
      const outcome = outcomes[i]!
      if (cut(outcome)) passenger.handBack()
      else if (whole && going.length > 1 && isOnesOwn(whole.error, outcome)) options.again(passenger)
      else passenger.conclude(outcome, began)
    }
  }
  const concludeAll = (error: unknown): void => {
    const at = now()
    conclude(
      going.map(({ rules }) => failed(error, rules.overrides, at)),
      { error },
    )
  }

  runWithin(
    deadlines,
    Math.max(...going.map(({ rules }) => rules.timeout)),
    `handler ${pattern}`,
    abandon,
    (signal) => {
      const events = going.map(({ event }) => event)
      return together(events, createBatchContext(options, going, batch, signal))
    },
    (reply) => {
      let went: ReturnType<typeof wentOf>
      try {
        went = wentOf(reply, going.length, pattern)
      } catch (error) {
        return concludeAll(error)
      }
      const at = now()
      conclude(
        went.map((each, i) =>
          'error' in each
            ? failed(each.error, going[i]!.rules.overrides, at)
            : outcomeOf(each.reply, going[i]!.rules.overrides, now),
        ),
      )
    },
    concludeAll,
  )
}

/** Waiting for others to come may have taken too long. */
const stillWorth = (passengers: readonly Passenger[], now: Instant): readonly Passenger[] =>
  passengers.filter((passenger) => {
    const expires = expiryOf(passenger.delivery.parcel.event, passenger.rules.ttl)
    if (expires === undefined || expires > now) return true
    passenger.conclude({ is: 'refused', reason: 'expired', failure: expired(expires) }, now)
    return false
  })

/** The breakers and budgets are asked once for all that go by the same rules; those refused are put off. */
const admitted = (
  { guards }: BatchAttemptOptions,
  passengers: readonly Passenger[],
  now: Instant,
): { readonly going: readonly Passenger[]; readonly permits: readonly Entered[] } => {
  const fresh = new Map<Rules, Entered | Refused>()
  const retries = new Map<Rules, Entered | Refused>()
  const going = passengers.filter(({ rules, event, registered, conclude }) => {
    const isRetry = event.attempt > 1
    const known = isRetry ? retries : fresh
    const answer = known.get(rules) ?? guards.admit(rules, registered.pattern, isRetry)
    known.set(rules, answer)
    if (!('by' in answer)) return true
    conclude(heldUp(answer, now), now)
    return false
  })
  const permits = [...fresh.values(), ...retries.values()].filter(
    (answer): answer is Entered => !('by' in answer),
  )
  return { going, permits }
}

/** One call, however many events: it went well where any of them was done, and ill where none was and some count. */
const tellGuards = (permits: readonly Entered[], outcomes: readonly Outcome[], cutShort: boolean): void => {
  const counts = (outcome: Outcome) =>
    outcome.is === 'failed' && !cutShort && outcome.failure.category !== 'permanent'
  for (const permit of permits) {
    if (outcomes.some(({ is }) => is === 'done')) permit.success()
    else if (outcomes.some(counts)) permit.failure()
    else permit.ignore()
  }
}

/**
 * A handler that throws does not say whose fault it was. What passes with time is tried again together; what does not may
 * be the fault of one: each is then tried by itself, so that only that one bears it. A wrong answer is nobody's but
 * the handler's.
 */
const isOnesOwn = (error: unknown, outcome: Outcome): boolean =>
  outcome.is === 'failed' &&
  (outcome.failure.category === 'permanent' || outcome.failure.category === 'unknown') &&
  !(error instanceof BadAnswer)

interface Told {
  readonly batch: Batch
  readonly departed: Departure
  readonly began: Instant
  readonly timedOut: boolean
}

const tellOf = (
  { journal, now, service }: BatchAttemptOptions,
  going: readonly Passenger[],
  outcomes: readonly Outcome[],
  { batch, departed, began, timedOut }: Told,
): void => {
  const bad = going.filter((_, i) => outcomes[i]!.is === 'failed' || outcomes[i]!.is === 'refused')
  const at = now()
  journal({
    at,
    is: bad.length > 0 ? 'batch failed' : 'batch',
    service,
    handler: going[0]!.registered.pattern,
    ...(batch.name !== undefined && { batcher: batch.name }),
    size: going.length,
    failed: bad.length,
    took: at - began,
    departed,
    timedOut,
    critical: bad.some(isCritical),
  })
}

const isCritical = ({ priority, rules }: Passenger): boolean =>
  priority === 'high' || priority === 'critical' || rules.criticality === 'critical'
