import { formulaOf, spanOf } from '../../core/backoff.ts'
import type { Policy } from '../../core/policy.ts'
import type { Millis } from '../../core/time.ts'
import { totalsOf } from '../../core/totals.ts'

/** All that a policy waits, if every attempt fails. */
export interface Delays {
  /** The longest single wait. */
  readonly longest: Millis
  /** Of all waits together, as if there were no window. */
  readonly expected: Millis
  readonly greatest: Millis
  /** How long retries may go on: up to the window where there is one, since a Retry-After can stretch any delay. */
  readonly span: Millis
}

const known = new WeakMap<Policy, Delays>()

export const delaysOf = (policy: Policy): Delays => {
  const before = known.get(policy)
  if (before) return before
  const { window, ...endless } = policy
  const { expected, greatest } = totalsOf(endless)
  const span = policy.retries === 0 ? 0 : (window ?? greatest)
  const delays = { longest: longestOf(policy), expected, greatest, span }
  known.set(policy, delays)
  return delays
}

const longestOf = ({ backoff, retries }: Policy): Millis => {
  let longest = 0
  let last: Millis | undefined
  for (let retry = 1; retry <= retries; retry++) {
    const { high, cap } = spanOf(formulaOf(backoff, retry), retry, last)
    last = Math.min(high, cap)
    longest = Math.max(longest, last)
  }
  return longest
}
