import { createHash } from 'node:crypto'
import type { Category, Failure, Kind } from './failure.ts'
import type { Instant, Millis } from './time.ts'

/** When a message is poison: it will fail however often it is tried, while others go through. */
export interface PoisonRules {
  /** So many failures of one message with one signature … */
  readonly failures: number
  /** … within this long are poison. */
  readonly within: Millis
  /** Which failures count. Those of kind crash always do. */
  readonly categories: readonly Category[]
  /** So many deaths of the process on one message are poison too. */
  readonly crashes: number
}

/** One message before one handler. */
export interface Sighting {
  readonly message: string
  /** The subscription's topic or queue. */
  readonly queue: string
  readonly handler: string
  /** A hash of the payload: a letter that was mended and replayed is another matter. */
  readonly payload: string
}

export type PoisonSignal =
  | { readonly is: 'failed'; readonly what: Sighting; readonly failure: Failure }
  /** The ledger found claims of it that were never released, so many. */
  | { readonly is: 'crashed'; readonly what: Sighting; readonly crashes: number }
  | { readonly is: 'succeeded'; readonly what: Pick<Sighting, 'message' | 'handler'> }
  /** Someone mended it: what was counted with this signature, or by this handler, is forgotten. */
  | { readonly is: 'mended'; readonly signature: string }
  | { readonly is: 'mended'; readonly handler: string }

/** Failures of one message with one signature. */
export interface Suspect {
  readonly signature: string
  readonly message: string
  readonly handler: string
  /** When it failed, oldest first; never more than the rules count. */
  readonly at: readonly Instant[]
  /** When the handler last succeeded on another message. */
  readonly othersAt?: Instant
}

/** Plain data. The one that failed last comes last. */
export interface PoisonState {
  readonly suspects: readonly Suspect[]
}

export interface Poison {
  readonly signature: string
  /** The last part of the quarantine's name. */
  readonly kind: Kind
  readonly because: string
}

export interface PoisonAnswer {
  readonly state: PoisonState
  readonly poison?: Poison
}

export const freshPoison: PoisonState = { suspects: [] }

/** So many are watched at once; beyond it the one that failed longest ago is forgotten. */
export const MOST_SUSPECTS = 1000

/** Error type, queue, handler and payload: what makes two failures of a message the same to the poison rules. */
export const signatureOf = (error: Pick<Failure, 'name' | 'code'>, what: Sighting): string => {
  const parts = [error.name, error.code ?? null, what.queue, what.handler, what.payload]
  return `s1-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)}`
}

/** Pure: what to remember after a signal, and whether the message is poison. */
export const poison = (
  state: PoisonState,
  signal: PoisonSignal,
  now: Instant,
  rules: PoisonRules,
): PoisonAnswer => {
  switch (signal.is) {
    case 'failed':
      return afterFailure(state, signal.what, signal.failure, now, rules)
    case 'crashed':
      return afterCrash(state, signal.what, signal.crashes, rules)
    case 'succeeded':
      return { state: afterSuccess(state, signal.what, now, rules) }
    case 'mended':
      return {
        state: without(state, (suspect) =>
          'handler' in signal ? suspect.handler === signal.handler : suspect.signature === signal.signature,
        ),
      }
  }
}

/** Whether such a failure can make anything poison at all. */
export const countsFor = (rules: PoisonRules, failure: Failure): boolean =>
  failure.kind === 'crash' || rules.categories.includes(failure.category)

const afterFailure = (
  state: PoisonState,
  what: Sighting,
  failure: Failure,
  now: Instant,
  rules: PoisonRules,
): PoisonAnswer => {
  if (!countsFor(rules, failure)) return { state }
  const signature = signatureOf(failure, what)
  const { message, handler } = what
  const recent = isRecent(now, rules)
  const isIt = (suspect: Suspect) => suspect.signature === signature && suspect.message === message
  const known = state.suspects.find(isIt)
  const at = [...(known?.at.filter(recent) ?? []), now].slice(-rules.failures)
  const others = state.suspects.filter((suspect) => !isIt(suspect) && recent(suspect.at.at(-1)!))
  if (at.length === rules.failures && isAlone(known, at[0]!, rules)) {
    const because = becauseOf(at, failure.name)
    return { state: { suspects: others }, poison: { signature, kind: failure.kind, because } }
  }
  const suspect: Suspect = { ...known, signature, message, handler, at }
  return { state: { suspects: [...others, suspect].slice(-MOST_SUSPECTS) } }
}

const isRecent =
  (now: Instant, { within }: PoisonRules) =>
  (at: Instant): boolean =>
    now - at < within

const becauseOf = (at: readonly Instant[], name: string): string =>
  at.length === 1
    ? `failed with ${name}`
    : `failed ${at.length} times with ${name} within ${at.at(-1)! - at[0]!} ms, while others succeeded`

/**
 * Only a success after the first of the counted failures tells a bad message from an outage: those before it may be from
 * before the outage. A single failure that is enough leaves no time for one.
 */
const isAlone = (known: Suspect | undefined, first: Instant, { failures }: PoisonRules): boolean =>
  failures === 1 || (known?.othersAt !== undefined && known.othersAt > first)

/** Nobody else can succeed while the process dies, and the ledger has counted already: no window, no others. */
const afterCrash = (
  state: PoisonState,
  what: Sighting,
  crashes: number,
  rules: PoisonRules,
): PoisonAnswer => {
  if (crashes < rules.crashes) return { state }
  const signature = signatureOf({ name: 'Crash' }, what)
  return {
    state: without(state, ({ message, handler }) => message === what.message && handler === what.handler),
    poison: { signature, kind: 'crash', because: `the process died ${crashes} times on it` },
  }
}

/** Costs nothing while there is no suspect. */
const afterSuccess = (
  state: PoisonState,
  { message, handler }: Pick<Sighting, 'message' | 'handler'>,
  now: Instant,
  rules: PoisonRules,
): PoisonState => {
  const recent = isRecent(now, rules)
  if (!state.suspects.some((suspect) => suspect.handler === handler)) return state
  return {
    suspects: state.suspects
      .filter((suspect) => suspect.handler !== handler || suspect.message !== message)
      .filter((suspect) => recent(suspect.at.at(-1)!))
      .map((suspect) => (suspect.handler === handler ? { ...suspect, othersAt: now } : suspect)),
  }
}

const without = (state: PoisonState, gone: (suspect: Suspect) => boolean): PoisonState =>
  state.suspects.some(gone) ? { suspects: state.suspects.filter((suspect) => !gone(suspect)) } : state
