import type { Backoff, PlainBackoff, Policy } from '../../core/policy.ts'
import type { RuleBook } from '../book.ts'
import { showDuration } from '../duration.ts'
import type { Path } from '../place.ts'
import { buildPolicy } from '../policies.ts'
import type { WrittenPolicy } from '../schema.ts'
import { delaysOf } from './delays.ts'
import type { Remark } from './finding.ts'
import { type Check, levelsIn } from './scope.ts'

/** A policy as the book writes it, by name or in place, and what it comes to. */
interface Own {
  readonly path: Path
  readonly says: WrittenPolicy
  readonly policy: Policy
}

function* policiesIn(book: RuleBook): Generator<Own> {
  for (const [name, says] of Object.entries(book.written.policies ?? {})) {
    yield { path: ['policies', name], says, policy: book.policies.get(name)! }
  }
  for (const { says, path } of levelsIn(book)) {
    const own = says.policy
    if (own === undefined || typeof own === 'string') continue
    const base = own.extends === undefined ? undefined : book.policies.get(own.extends)
    yield { path: [...path, 'policy'], says: own, policy: buildPolicy('inline', own, base) }
  }
}

/** Looks at what each policy says itself: what it inherits is told where that is written. */
export const policies: Check = ({ book }) => ({
  *whole() {
    for (const own of policiesIn(book)) {
      if (own.policy.retries === 0) continue
      yield* jitter(own)
      yield* tuning(own)
      yield* caps(own)
      yield* limits(own)
    }
  },
})

type Figures = Pick<WrittenPolicy, 'initial' | 'max' | 'delay' | 'jitter'>

interface Part {
  readonly path: Path
  readonly says: Figures
  readonly first: boolean
  readonly last: boolean
}

/** The policy itself, and each of its tiers. */
const partsOf = ({ path, says }: Own): readonly Part[] => {
  const tiers = says.tiers ?? []
  return [
    { path, says, first: true, last: true },
    ...tiers.map((tier, index) => ({
      path: [...path, 'tiers', String(index)],
      says: tier,
      first: index === 0,
      last: index === tiers.length - 1,
    })),
  ]
}

function* jitter(own: Own): Generator<Remark> {
  for (const { path, says } of partsOf(own)) {
    if (says.jitter === undefined) continue
    if (says.jitter.kind !== 'none' && !(says.jitter.kind === 'spread' && says.jitter.ratio === 0)) continue
    yield {
      id: 'no-jitter',
      path: [...path, 'jitter'],
      reason: 'without jitter all that failed together come back together',
      fix: "write 'jitter: half', 'full' or a spread such as 20%",
    }
  }
}

/** The published ranges. */
const INITIAL = [100, 5000] as const
const MAX = [10_000, 600_000] as const
const MOST_JITTER = 0.5

function* tuning(own: Own): Generator<Remark> {
  for (const { path, says, first, last } of partsOf(own)) {
    const { initial, delay, max } = says
    const least = initial ?? delay
    // a later tier starts where the one before has come to; a fixed delay is first and longest at once
    const tooLow = first && least !== undefined && least < INITIAL[0]
    const tooHigh = first && initial !== undefined && initial > INITIAL[1]
    if (tooLow || tooHigh) {
      yield {
        id: 'tuning-initial',
        path: [...path, initial === undefined ? 'delay' : 'initial'],
        reason: `the first delay of ${showDuration(least!)} is outside 100ms to 5s: ${
          tooLow ? 'retries come before anything can have changed' : 'a brief failure costs a long wait'
        }`,
        fix: 'choose a first delay from 100ms to 5s',
      }
    }
    const most = max ?? delay
    if (most === undefined) continue
    if (most > MAX[1] || (max !== undefined && last && max < MAX[0])) {
      yield {
        id: 'tuning-max',
        path: [...path, max === undefined ? 'delay' : 'max'],
        reason: `the longest delay of ${showDuration(most)} is outside 10s to 10m: ${
          most > MAX[1] ? 'what is mended is noticed late' : 'a failing dependency is pressed hard'
        }`,
        fix: 'choose a longest delay from 10s to 10m',
      }
    }
  }
  for (const { path, says } of partsOf(own)) {
    if (says.jitter?.kind !== 'spread' || says.jitter.ratio <= MOST_JITTER) continue
    yield {
      id: 'tuning-jitter',
      path: [...path, 'jitter'],
      reason: `a spread of ${Math.round(says.jitter.ratio * 100)}% is outside 0 to 50%: some delays shrink to nearly nothing`,
      fix: "choose at most 50%, or 'jitter: full' if that is what is meant",
    }
  }
}

function* caps(own: Own): Generator<Remark> {
  const { policy, path, says } = own
  const plain = (each: PlainBackoff, at: Path, figures: Figures): Remark | undefined => {
    if (!('max' in each) || each.max >= each.initial) return undefined
    if (figures.max === undefined && figures.initial === undefined) return undefined
    return {
      id: 'cap-below-initial',
      path: [...at, figures.max === undefined ? 'initial' : 'max'],
      reason: `the cap of ${showDuration(each.max)} is below the first delay of ${showDuration(each.initial)}: every delay is the cap`,
      fix: "raise 'max' above 'initial', or write 'backoff: fixed' with that delay",
    }
  }
  const remarks =
    policy.backoff.kind === 'tiers'
      ? (says.tiers ?? []).map((tier, index) =>
          plain(tierAt(policy.backoff, index), [...path, 'tiers', String(index)], tier),
        )
      : [plain(policy.backoff, path, says)]
  for (const remark of remarks) if (remark) yield remark
}

const tierAt = (backoff: Backoff, index: number): PlainBackoff =>
  backoff.kind === 'tiers' ? backoff.tiers[index]!.backoff : backoff

const MANY = 100

function* limits({ path, says, policy }: Own): Generator<Remark> {
  const { retries, window } = policy
  const at = (...keys: readonly (keyof WrittenPolicy)[]): Path => {
    const own = keys.find((key) => says[key] !== undefined)
    return own === undefined ? path : [...path, own]
  }
  if (
    window === undefined &&
    retries > MANY &&
    (says.extends === undefined || at('retries', 'attempts') !== path)
  ) {
    yield {
      id: 'unlimited-retries',
      path: at('retries', 'attempts'),
      reason: `${retries} retries with no window are as good as endless: what can't be saved is never buried`,
      fix: `add 'window', or at most ${MANY} retries`,
    }
  }
  const { expected } = delaysOf(policy)
  const bare = Object.entries(says).every(([key, value]) => key === 'extends' || value === undefined)
  if (window !== undefined && expected > window && !bare) {
    yield {
      id: 'retries-beyond-window',
      path: at('window', 'retries', 'attempts'),
      reason: `the ${retries} retries need about ${showDuration(Math.round(expected))}, and the window of ${showDuration(window)} ends first`,
      fix: 'make the window longer, or ask for fewer retries',
    }
  }
}
