import { hash } from 'node:crypto'
import type { Event } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import type { Parcel } from '../core/parcel.ts'
import { countsFor, freshPoison, type Poison, type PoisonRules, poison } from '../core/poison.ts'
import type { Instant } from '../core/time.ts'
import type { Rules } from '../rules/index.ts'

/** Who fails again and again while others go through; kept by a service for as long as its process lives. */
export interface Suspects {
  /** Whether this failure makes the event poison. */
  failed(rules: Rules, topic: string, pattern: string, event: Event, failure: Failure): Poison | undefined
  /** The handler was mended: counting starts anew. */
  mended(pattern: string | undefined): void
  succeeded(rules: Rules, pattern: string, event: Event): void
  /** Whether so many claims of it that were never released make it poison. */
  crashed(rules: Rules, topic: string, pattern: string, parcel: Parcel, crashes: number): Poison | undefined
}

/** The first time others were under way as well. Only from the second on it was alone, and surely the cause. */
const SURE = 2

/** To forget takes no rules. */
const NONE: PoisonRules = { failures: 1, within: 0, categories: [], crashes: 1 }

export const createSuspects = (now: () => Instant): Suspects => {
  let state = freshPoison
  return {
    failed: ({ poison: rules }, topic, pattern, event, failure) => {
      if (!rules || !countsFor(rules, failure)) return undefined
      const what = sighting(topic, pattern, event)
      const answer = poison(state, { is: 'failed', what, failure }, now(), rules)
      state = answer.state
      return answer.poison
    },
    mended: (pattern) => {
      if (pattern === undefined) return
      state = poison(state, { is: 'mended', handler: pattern }, now(), NONE).state
    },
    succeeded: ({ poison: rules }, pattern, event) => {
      // almost always there is nobody to compare with
      if (!rules || state.suspects.length === 0) return
      state = poison(
        state,
        { is: 'succeeded', what: { message: event.id, handler: pattern } },
        now(),
        rules,
      ).state
    },
    crashed: ({ poison: rules, idempotency }, topic, pattern, { event, trail }, claimed) => {
      if (!rules || claimed < SURE) return undefined
      const crashes = claimed + unclaimed(idempotency.pattern, trail.spent)
      const answer = poison(
        state,
        { is: 'crashed', what: sighting(topic, pattern, event), crashes },
        now(),
        rules,
      )
      state = answer.state
      return answer.poison
    },
  }
}

/** Only dedup claims at the first delivery of the first attempt: what died of it then left no claim behind. */
const unclaimed = (pattern: Rules['idempotency']['pattern'], spent: number): number =>
  pattern === 'dedup' || spent > 0 ? 0 : 1

const sighting = (topic: string, pattern: string, event: Event) => ({
  message: event.id,
  queue: topic,
  handler: pattern,
  payload: event.data === null ? '' : hash('sha256', event.data, 'base64url'),
})
