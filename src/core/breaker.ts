import type { Roll } from './backoff.ts'
import type { BreakerRules } from './breaker-rules.ts'
import { reachesRate, recorded, type Window } from './breaker-window.ts'
import type { Instant, Millis } from './time.ts'

export type { BreakerRules } from './breaker-rules.ts'

/**
 * A call's right to be made: one number for all calls of a time in which the breaker was closed, one of its own for
 * each probe. None is ever given again, so that the result of a call that began before a trip changes nothing after it.
 */
export type Permit = number

/** Plain JSON: it can be shown, stored and shared. `serial` is the highest permit so far. */
export type BreakerState = Closed | Open | HalfOpen | Forced

interface Closed {
  readonly is: 'closed'
  readonly serial: Permit
  /** In a row. */
  readonly failures: number
  /** When they happened, where the rules forget them by time. */
  readonly times?: readonly Instant[]
  /** Where the rules have a rate. */
  readonly window?: Window
  /** While only a growing share is let through: since when. */
  readonly rampSince?: Instant
}

interface Open {
  readonly is: 'open'
  readonly serial: Permit
  readonly since: Instant
  readonly until: Instant
}

interface HalfOpen {
  readonly is: 'half-open'
  readonly serial: Permit
  /** Those that are out. */
  readonly probes: readonly { readonly permit: Permit; readonly since: Instant }[]
  readonly successes: number
}

/** By an operator, until released. Calls and their results change nothing. */
interface Forced {
  readonly is: 'forced open' | 'forced closed'
  readonly serial: Permit
}

/**
 *   ask                  before a call: a permit, or a refusal
 *   success, failure     how it ended; what counts as a failure is the caller's business
 *   ignored, lost        it ended in a way that says nothing, or nobody knows how
 *   force, release       an operator's hand
 */
export type Signal =
  | { readonly is: 'ask' }
  | { readonly is: 'success' | 'failure' | 'ignored' | 'lost'; readonly permit: Permit }
  | { readonly is: 'force'; readonly to: 'open' | 'closed' }
  | { readonly is: 'release' }

/** What became of an ask. */
export type Asked =
  | { readonly state: BreakerState; readonly permit: Permit }
  | { readonly state: BreakerState; readonly refused: Refusal }

export type Step = Asked | { readonly state: BreakerState }

export interface Refusal {
  readonly because: 'open' | 'probing' | 'ramping up' | 'forced open'
  /** When it is worth asking again. */
  readonly retryAt: Instant
}

export const closedBreaker: BreakerState = { is: 'closed', serial: 0, failures: 0 }

/** Pure, and never throws. Where nothing changes it answers with the same state. */
export const breaker = (
  rules: BreakerRules,
  state: BreakerState,
  signal: Signal,
  now: Instant,
  roll: Roll,
): Step => {
  switch (signal.is) {
    case 'ask':
      return ask(rules, state, now, roll)
    case 'success':
      return { state: succeed(rules, state, signal.permit, now) }
    case 'failure':
      return { state: fail(rules, state, signal.permit, now, roll) }
    case 'ignored':
    case 'lost':
      return { state: letGo(state, signal.permit) }
    case 'force':
      return { state: force(state, signal.to) }
    case 'release':
      return { state: release(rules, state, now) }
  }
}

export const ask = (rules: BreakerRules, state: BreakerState, now: Instant, roll: Roll): Asked => {
  switch (state.is) {
    case 'closed':
      return state.rampSince === undefined
        ? { state, permit: state.serial }
        : askRamping(rules, state, state.rampSince, now, roll)
    case 'open':
      return askOpen(rules, state, now)
    case 'half-open':
      return askProbing(rules, state, now)
    case 'forced closed':
      return { state, permit: state.serial }
    case 'forced open':
      return refuse(state, 'forced open', now + rules.open)
  }
}

const refuse = (state: BreakerState, because: Refusal['because'], retryAt: Instant): Asked => ({
  state,
  refused: { because, retryAt },
})

/** Even at its beginning a ramp lets some through, or nobody would learn anything. */
const LEAST_SHARE = 0.1

/** The lot that was too high for now also tells when its time comes. */
const askRamping = (rules: BreakerRules, state: Closed, since: Instant, now: Instant, roll: Roll): Asked => {
  const { rampSince: _, ...flat } = state
  const { ramp = 0 } = rules
  const passed = now - since
  if (passed >= ramp) return { state: flat, permit: state.serial }
  // the clock was put back: the ramp begins anew, rather than with the time it had
  const steady = passed < 0 ? { ...flat, rampSince: now } : state
  const lot = roll()
  if (lot < Math.max(LEAST_SHARE, passed / ramp)) return { state: steady, permit: state.serial }
  return refuse(steady, 'ramping up', Math.max(now, Math.ceil((steady.rampSince ?? now) + lot * ramp)))
}

const askOpen = (rules: BreakerRules, state: Open, now: Instant): Asked => {
  const { since, until, serial } = state
  // the clock was put back: it stays open for as long as it was meant to be, and no longer
  const steady = now < since ? { ...state, since: now, until: now + (until - since) } : state
  if (now < steady.until) return refuse(steady, 'open', steady.until)
  return askProbing(rules, { is: 'half-open', serial, probes: [], successes: 0 }, now)
}

const SHORTEST_LEASE: Millis = 1000

const askProbing = (rules: BreakerRules, state: HalfOpen, now: Instant): Asked => {
  const lease = rules.probeLease ?? Math.max(rules.open, SHORTEST_LEASE)
  const out = state.probes
    .map((probe) => (probe.since > now ? { ...probe, since: now } : probe))
    .filter(({ since }) => now - since < lease)
  if (out.length >= rules.probes) {
    const soonest = Math.min(...out.map(({ since }) => since + lease))
    return refuse({ ...state, probes: out }, 'probing', soonest)
  }
  const permit = state.serial + 1
  return { state: { ...state, serial: permit, probes: [...out, { permit, since: now }] }, permit }
}

export const succeed = (
  rules: BreakerRules,
  state: BreakerState,
  permit: Permit,
  now: Instant,
): BreakerState => {
  if (state.is === 'closed') {
    if (permit !== state.serial) return state
    if (rules.rate === undefined) return state.failures === 0 ? state : forgetting(state)
    return { ...forgetting(state), window: recorded(rules, state.window, false, now) }
  }
  if (!isProbe(state, permit)) return state
  const successes = state.successes + 1
  return successes >= rules.successes ? close(rules, state, now) : { ...without(state, permit), successes }
}

export const fail = (
  rules: BreakerRules,
  state: BreakerState,
  permit: Permit,
  now: Instant,
  roll: Roll,
): BreakerState => {
  if (state.is === 'closed') {
    if (permit !== state.serial) return state
    const counted = countFailure(rules, state, now)
    const trips = counted.failures >= rules.failures || (counted.window && reachesRate(rules, counted.window))
    return trips ? trip(rules, state, now, roll) : counted
  }
  return isProbe(state, permit) ? trip(rules, state, now, roll) : state
}

export const letGo = (state: BreakerState, permit: Permit): BreakerState =>
  isProbe(state, permit) ? without(state, permit) : state

export const force = (state: BreakerState, to: 'open' | 'closed'): BreakerState =>
  state.is === `forced ${to}` ? state : { is: `forced ${to}`, serial: state.serial + 1 }

/** Back to closed, by the ramp where it was open: whoever lets go of it says that it is well again. */
export const release = (rules: BreakerRules, state: BreakerState, now: Instant): BreakerState => {
  if (state.is === 'forced open') return close(rules, state, now)
  return state.is === 'forced closed' ? { ...closedBreaker, serial: state.serial + 1 } : state
}

/** As all processes together have decided. An operator's hand is stronger. */
export const follow = (
  rules: BreakerRules,
  state: BreakerState,
  to: Followed,
  now: Instant,
): BreakerState => {
  if (state.is === 'forced open' || state.is === 'forced closed') return state
  const { serial } = state
  switch (to.is) {
    case 'open':
      return { is: 'open', serial, since: to.since, until: to.until }
    case 'half-open':
      return state.is === 'half-open' ? state : { is: 'half-open', serial, probes: [], successes: 0 }
    case 'closed':
      return state.is === 'closed' ? state : close(rules, state, now)
  }
}

export type Followed =
  | { readonly is: 'open'; readonly since: Instant; readonly until: Instant }
  | { readonly is: 'half-open' | 'closed' }

const isProbe = (state: BreakerState, permit: Permit): state is HalfOpen =>
  state.is === 'half-open' && state.probes.some((probe) => probe.permit === permit)

const without = (state: HalfOpen, permit: Permit): HalfOpen => ({
  ...state,
  probes: state.probes.filter((probe) => probe.permit !== permit),
})

const forgetting = ({ times: _, ...state }: Closed): Closed => ({ ...state, failures: 0 })

const countFailure = (rules: BreakerRules, state: Closed, now: Instant): Closed => {
  const { interval } = rules
  const times =
    interval === undefined
      ? undefined
      : [...(state.times ?? []).filter((at) => Math.abs(now - at) < interval), now]
  return {
    ...state,
    failures: times?.length ?? state.failures + 1,
    ...(times && { times }),
    ...(rules.rate !== undefined && { window: recorded(rules, state.window, true, now) }),
  }
}

const trip = (rules: BreakerRules, { serial }: BreakerState, now: Instant, roll: Roll): Open => {
  const { open, spread = 0 } = rules
  const lasting = spread > 0 ? Math.round(open * (1 + spread * (2 * roll() - 1))) : open
  return { is: 'open', serial, since: now, until: now + lasting }
}

const close = (rules: BreakerRules, { serial }: BreakerState, now: Instant): Closed => ({
  is: 'closed',
  serial: serial + 1,
  failures: 0,
  ...(rules.ramp !== undefined && rules.ramp > 0 && { rampSince: now }),
})
