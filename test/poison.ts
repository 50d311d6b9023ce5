import type { Failure } from '../src/core/failure.ts'
import {
  freshPoison,
  type PoisonRules,
  type PoisonSignal,
  type PoisonState,
  poison,
  type Sighting,
} from '../src/core/poison.ts'

export const RULES: PoisonRules = { failures: 3, within: 60_000, categories: ['unknown'], crashes: 3 }

export const sighting = (message: string, more: Partial<Sighting> = {}): Sighting => ({
  message,
  queue: 'orders',
  handler: 'billing/order.placed',
  payload: `hash of ${message}`,
  ...more,
})

export const failure = (more: Partial<Failure> = {}): Failure => ({
  category: 'unknown',
  kind: 'handler',
  name: 'TypeError',
  message: 'no',
  because: 'test',
  ...more,
})

export const failed = (
  message: string,
  more: Partial<Failure> = {},
  where: Partial<Sighting> = {},
): PoisonSignal => ({
  is: 'failed',
  what: sighting(message, where),
  failure: failure(more),
})
export const succeeded = (message: string, handler = 'billing/order.placed'): PoisonSignal => ({
  is: 'succeeded',
  what: { message, handler },
})

/** What was found to be poison, after which step, in a course of [moment, signal]. */
export const course = (
  steps: readonly (readonly [number, PoisonSignal])[],
  rules = RULES,
  from = freshPoison,
) => {
  let state: PoisonState = from
  const found: { step: number; kind: string; signature: string; because: string }[] = []
  steps.forEach(([at, signal], i) => {
    const answer = poison(state, signal, at, rules)
    state = answer.state
    if (answer.poison) found.push({ step: i + 1, ...answer.poison })
  })
  return { state, found }
}
