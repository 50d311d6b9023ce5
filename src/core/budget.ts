import type { Instant } from './time.ts'

/**
 * How many retries one dependency is sent, whatever the policies say: backoff only spreads a load, a budget bounds it.
 * Retries in any span of t seconds are at most `burst + ratio × first calls + perSecond × t`.
 */
export interface BudgetRules {
  /** What each first call adds: 0.2 lets one retry follow five calls. */
  readonly ratio: number
  /** What comes by itself, so that a quiet dependency is retried too. */
  readonly perSecond: number
  /** The most that is saved up; at least 1, or no retry would ever be paid. */
  readonly burst: number
}

/** Plain data, so that it can be shown, stored and shared. */
export interface BudgetState {
  readonly tokens: number
  /** The latest moment it has seen. */
  readonly at: Instant
}

/** call: a first attempt, which is never refused · retry: wants a token */
export type BudgetSignal = 'call' | 'retry'

export interface BudgetAnswer {
  readonly state: BudgetState
  /** A retry that is not granted is put off, never failed. */
  readonly granted: boolean
  /** Not granted: when there will be a token by time alone. Absent where only first calls bring any. */
  readonly due?: Instant
}

export const freshBudget = (now: Instant, { burst }: BudgetRules): BudgetState => ({ tokens: burst, at: now })

/**
 * What one of so many processes may do, so that all together keep to the rules: its part of what comes by time and of
 * what is saved up. What first calls bring stays with who made them. One token is always worth saving for.
 */
export const shareOf = (rules: BudgetRules, processes: number): BudgetRules =>
  processes <= 1
    ? rules
    : { ...rules, perSecond: rules.perSecond / processes, burst: Math.max(1, rules.burst / processes) }

/** Ten tenths are a token, although their sum is a little less. */
const ENOUGH = 1 - 1e-9

/** Pure. A clock that goes back brings nothing twice: time counts from the latest moment seen. */
export const budget = (
  state: BudgetState,
  signal: BudgetSignal,
  now: Instant,
  rules: BudgetRules,
): BudgetAnswer => {
  const at = Math.max(state.at, now)
  const come = state.tokens + ((at - state.at) / 1000) * rules.perSecond
  if (signal === 'call') {
    return { state: { tokens: Math.min(come + rules.ratio, rules.burst), at }, granted: true }
  }
  const tokens = Math.min(come, rules.burst)
  if (tokens >= ENOUGH) return { state: { tokens: Math.max(0, tokens - 1), at }, granted: true }
  const refused = { state: { tokens, at }, granted: false }
  if (rules.perSecond <= 0 || rules.burst < ENOUGH) return refused
  return { ...refused, due: at + Math.ceil(((ENOUGH - tokens) / rules.perSecond) * 1000) }
}
