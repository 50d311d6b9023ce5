import { type Backoff, type Jitter, type PlainBackoff, POLICIES, type Policy } from '../core/policy.ts'
import { extended } from './extended.ts'
import { present } from './present.ts'
import type { WrittenPolicy } from './schema.ts'

export type BackoffKind = Backoff['kind']

/** A policy as a book says it, said in code: durations and jitter are text there too. */
export interface PolicyInCode extends PlainInCode {
  readonly extends?: string
  readonly backoff?: BackoffKind
  readonly tiers?: readonly (PlainInCode & {
    readonly upTo: number
    readonly backoff: PlainBackoff['kind']
  })[]
  readonly retries?: number
  /** The first included. */
  readonly attempts?: number
  readonly window?: string
  readonly unknownRetries?: number
}

interface PlainInCode {
  readonly initial?: string
  readonly multiplier?: number
  readonly min?: string
  readonly max?: string
  readonly firstExponent?: 0 | 1
  readonly step?: string
  readonly delay?: string
  readonly jitter?: string
}

/** A policy by name, one in place, or nothing: then the book decides. `type` may be a pattern. */
export type PolicyFor = (service: string, type: string) => string | PolicyInCode | undefined

/** Which keys go with which backoff; the others would be read by nobody. */
export const KEYS: Readonly<Record<BackoffKind, readonly string[]>> = {
  exponential: ['initial', 'multiplier', 'max', 'firstExponent', 'jitter'],
  linear: ['initial', 'step', 'min', 'max', 'jitter'],
  decorrelated: ['initial', 'multiplier', 'max'],
  fixed: ['delay', 'jitter'],
  none: [],
  tiers: ['tiers'],
}

/** Without these there is nothing to wait by. */
export const NEEDED: Readonly<Partial<Record<BackoffKind, string>>> = {
  linear: 'step',
  fixed: 'delay',
  tiers: 'tiers',
}

/** What a policy that extends nothing starts from, where it leaves something out. */
export const BARE = {
  backoff: 'exponential',
  initial: 100,
  multiplier: 2,
  max: 60_000,
  jitter: { kind: 'spread', ratio: 0.2 } as Jitter,
  retries: 2,
} as const

/** Each decorrelated wait is drawn from `initial` to this many times the one before. */
const DECORRELATED = 3

/** All policies by name: the built-in ones, and the book's own over them. */
export const buildPolicies = (
  written: Readonly<Record<string, WrittenPolicy>>,
): ReadonlyMap<string, Policy> =>
  extended(new Map<string, Policy>(Object.entries(POLICIES)), written, buildPolicy)

/** A policy as it is written, over the one it extends. */
export const buildPolicy = (name: string, own: WrittenPolicy, base: Policy | undefined): Policy => {
  const kind = own.backoff ?? base?.backoff.kind ?? BARE.backoff
  const inherited = base && (base.backoff.kind === kind || kind !== 'tiers') ? base.backoff : undefined
  const backoff: Backoff =
    kind === 'tiers'
      ? own.tiers
        ? {
            kind,
            tiers: own.tiers.map((tier) => ({ upTo: tier.upTo, backoff: plain(tier.backoff, tier) })),
          }
        : base!.backoff
      : plain(kind, { ...withoutKind(inherited), ...present(own) })
  const window = own.window ?? base?.window
  const unknownRetries = own.unknownRetries ?? base?.unknownRetries
  return {
    name,
    backoff,
    retries: own.retries ?? (own.attempts === undefined ? (base?.retries ?? BARE.retries) : own.attempts - 1),
    ...(window !== undefined && { window }),
    ...(unknownRetries !== undefined && { unknownRetries }),
  }
}

type Numbers = Pick<
  WrittenPolicy,
  'initial' | 'multiplier' | 'min' | 'max' | 'firstExponent' | 'step' | 'delay' | 'jitter'
>

const plain = (kind: PlainBackoff['kind'], from: Numbers): PlainBackoff => {
  const jitter = from.jitter ?? BARE.jitter
  const max = from.max ?? BARE.max
  switch (kind) {
    case 'exponential':
      return {
        kind,
        initial: from.initial ?? BARE.initial,
        multiplier: from.multiplier ?? BARE.multiplier,
        max,
        firstExponent: from.firstExponent === 1 ? 1 : 0,
        jitter,
      }
    case 'linear':
      return {
        kind,
        initial: from.initial ?? from.step!,
        step: from.step!,
        ...(from.min !== undefined && { min: from.min }),
        max,
        jitter,
      }
    case 'decorrelated':
      return {
        kind,
        initial: from.initial ?? BARE.initial,
        multiplier: from.multiplier ?? DECORRELATED,
        max,
      }
    case 'fixed':
      return { kind, delay: from.delay!, jitter }
    case 'none':
      return { kind }
  }
}

const withoutKind = (backoff: Backoff | undefined): Numbers => {
  if (!backoff || backoff.kind === 'tiers') return {}
  const { kind: _, ...numbers } = backoff
  return numbers
}
