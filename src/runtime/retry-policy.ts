import { ReprieveError } from '../core/error.ts'
import { POLICIES, type Policy } from '../core/policy.ts'
import { readRules } from '../rules/index.ts'
import type { Duration } from './retry-duration.ts'

export type PolicyName = keyof typeof POLICIES | 'bare' | 'brisk'

/** A policy as a rule book has it, with durations in milliseconds too. */
export interface PolicySpec extends BackoffNumbers {
  readonly extends?: keyof typeof POLICIES
  readonly backoff?: PlainKind | 'tiers'
  readonly tiers?: readonly (BackoffNumbers & { readonly upTo: number; readonly backoff: PlainKind })[]
  /** Retries after the first attempt, or attempts with the first included: one of the two. */
  readonly retries?: number
  readonly attempts?: number
  readonly window?: Duration
  /** Of failures that nobody knows, at most; 2 unless told. */
  readonly unknownRetries?: number
}

type PlainKind = 'exponential' | 'linear' | 'fixed' | 'decorrelated' | 'none'

interface BackoffNumbers {
  readonly initial?: Duration
  readonly multiplier?: number
  readonly min?: Duration
  readonly max?: Duration
  readonly firstExponent?: 0 | 1
  readonly step?: Duration
  readonly delay?: Duration
  readonly jitter?: 'none' | 'full' | 'half' | 'wide' | `${number}%`
}

/** For calls that somebody waits for. */
const BRISK: PolicySpec = { initial: 100, max: 30_000, multiplier: 2, jitter: 'full', attempts: 5 }

export const policyOf = (written: PolicyName | Policy | PolicySpec): Policy => {
  if (typeof written !== 'string') return isPolicy(written) ? written : read('inline', written)
  if (written === 'bare') return read('bare', {})
  if (written === 'brisk') return read('brisk', BRISK)
  if (Object.hasOwn(POLICIES, written)) return POLICIES[written]
  const known = [...Object.keys(POLICIES), 'bare', 'brisk'].join(', ')
  throw new ReprieveError('bad_usage', `policy: found '${written}', expected one of ${known}`)
}

const isPolicy = (written: Policy | PolicySpec): written is Policy => typeof written.backoff === 'object'

const seen = new Map<string, Policy>()
const MOST_SEEN = 100

/** The rule book's own reader says what holds and what does not. It takes a while, and so what it read is kept. */
const read = (name: string, spec: PolicySpec): Policy => {
  const text = JSON.stringify({ version: 1, policies: { [name]: spec } }, asDuration)
  const known = seen.get(text)
  if (known) return known
  const policy = readRules(text, 'retry', {}).policies.get(name)!
  if (seen.size >= MOST_SEEN) seen.clear()
  seen.set(text, policy)
  return policy
}

const DURATIONS: ReadonlySet<string> = new Set(['initial', 'min', 'max', 'step', 'delay', 'window'])

const asDuration = (key: string, value: unknown): unknown =>
  typeof value === 'number' && DURATIONS.has(key) ? `${value}ms` : value
