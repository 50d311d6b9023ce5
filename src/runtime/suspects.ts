import { hash } from 'node:crypto'
import type { Event } from '../core/event.ts'
import type { Failure } from '../core/failure.ts'
import { freshPoison, type Poison, poison } from '../core/poison.ts'
import type { Instant } from '../core/time.ts'
import type { Rules } from '../rules/index.ts'

/** Who fails again and again while others go through; kept by a service for as long as its process lives. */
export interface Suspects {
  /** Whether this failure makes the event poison. */
  failed(rules: Rules, topic: string, pattern: string, event: Event, failure: Failure): Poison | undefined
  succeeded(rules: Rules, pattern: string, event: Event): void
}

export const createSuspects = (now: () => Instant): Suspects => {
  let state = freshPoison
  return {
    failed: ({ poison: rules }, topic, pattern, event, failure) => {
      if (!rules) return undefined
      const payload = event.data === null ? '' : hash('sha256', event.data, 'base64url')
      const what = { message: event.id, queue: topic, handler: pattern, payload }
      const answer = poison(state, { is: 'failed', what, failure }, now(), rules)
      state = answer.state
      return answer.poison
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
  }
}
