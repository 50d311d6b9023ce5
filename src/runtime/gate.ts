import type { Subscription } from '../contracts/transport.ts'
import { isPrefix } from '../core/pattern.ts'
import type { Instant } from '../core/time.ts'
import type { Guards } from './guards.ts'
import type { Plan } from './plan.ts'

/** What may be pulled through a door now. */
export interface Gate {
  /** So many may be out at once. */
  readonly most: number
  /** These types wait. */
  readonly except?: ReadonlySet<string>
  /** Nothing at all, before then. */
  readonly until?: Instant
}

const OPEN: Gate = { most: Number.POSITIVE_INFINITY }

/**
 * An open breaker stops the pulling of what depends on it, and only that: all of a door, or single types where the
 * transport can pass them by. What comes all the same is put off by the walk. While a breaker is probed no more are
 * pulled than it has probes.
 */
export const createGate = (
  { types, topic }: Subscription,
  plan: Plan,
  guards: Guards,
  canExcept: boolean,
): (() => Gate) => {
  const rows = types.map((type) => ({ type, rules: plan.rulesOf(topic, type) }))
  if (rows.every(({ rules }) => rules.dependencies.length === 0 && !rules.breaker)) return () => OPEN

  return () => {
    const refused = rows.flatMap(({ type, rules }) => {
      const refusal = guards.refusal(rules, type, false)
      return refusal ? [{ type, retryAt: refusal.retryAt }] : []
    })
    if (refused.length === rows.length) {
      return { most: 0, until: Math.min(...refused.map(({ retryAt }) => retryAt)) }
    }
    const most = Math.max(...rows.map(({ type, rules }) => guards.most(rules, type)))
    const except = canExcept ? refused.map(({ type }) => type).filter((type) => !isPrefix(type)) : []
    return except.length > 0 ? { most, except: new Set(except) } : { most }
  }
}
