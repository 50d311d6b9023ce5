import type { Clock, Dice } from '../contracts/tools.ts'
import {
  ask,
  type BreakerRules,
  type BreakerState,
  closedBreaker,
  type Followed,
  fail,
  follow,
  force,
  letGo,
  type Permit,
  type Refusal,
  release,
  succeed,
} from '../core/breaker.ts'
import { type BreakerCounts, noCounts } from '../core/breaker-counts.ts'
import type { Instant } from '../core/time.ts'

/** A breaker with its state in hand, shared by all calls to one dependency. */
export interface Guard {
  readonly name: string
  readonly rules: BreakerRules
  readonly state: BreakerState
  /** Since when it is closed, open and so on. */
  readonly since: Instant
  readonly counts: BreakerCounts
  /** Before a call. Whoever is given a permit says once how the call ended. */
  ask(): Permit | Refusal
  /** Whether it would refuse now; nothing is taken. While it ramps up nobody can tell. */
  peek(): Refusal | undefined
  success(permit: Permit): void
  failure(permit: Permit): void
  /** The call was cut off, or ended in a way that says nothing of the dependency. */
  ignore(permit: Permit): void
  forceOpen(): void
  forceClosed(): void
  /** Ends what was forced. */
  release(): void
  /** As all processes together have decided. */
  follow(to: Followed): void
  toJSON(): Kept
}

/** A guard as it can be stored, and made again with `from`. */
export interface Kept {
  readonly state: BreakerState
  readonly counts: BreakerCounts
}

export interface Change {
  readonly name: string
  readonly from: BreakerState['is']
  readonly to: BreakerState['is']
  readonly at: Instant
}

export interface GuardOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly dice: Pick<Dice, 'next'>
  readonly from?: Kept
  readonly onChange?: (change: Change) => void
}

export const createGuard = (rules: BreakerRules, { clock, dice, from, onChange }: GuardOptions): Guard => {
  let state = from?.state ?? closedBreaker
  const counts = { ...(from?.counts ?? noCounts) }
  let since = clock.now()
  const roll = () => dice.next()

  const become = (next: BreakerState): void => {
    const before = state.is
    state = next
    if (before === next.is) return
    counts.transitions++
    since = clock.now()
    onChange?.({ name: rules.name, from: before, to: next.is, at: since })
  }

  return {
    name: rules.name,
    rules,
    get state() {
      return state
    },
    get since() {
      return since
    },
    get counts() {
      return { ...counts }
    },
    ask: () => {
      // almost every call finds it so, and then neither the time nor the dice matter
      if (state.is === 'closed' && state.rampSince === undefined) {
        counts.calls++
        return state.serial
      }
      const asked = ask(rules, state, clock.now(), roll)
      if ('permit' in asked) counts.calls++
      else counts.rejections++
      become(asked.state)
      return 'permit' in asked ? asked.permit : asked.refused
    },
    peek: () => {
      if (state.is === 'closed') return undefined
      const asked = ask(rules, state, clock.now(), roll)
      return 'refused' in asked ? asked.refused : undefined
    },
    success: (permit) => {
      counts.successes++
      if (state.is === 'closed' && state.failures === 0 && rules.rate === undefined) return
      become(succeed(rules, state, permit, clock.now()))
    },
    failure: (permit) => {
      counts.failures++
      become(fail(rules, state, permit, clock.now(), roll))
    },
    ignore: (permit) => become(letGo(state, permit)),
    forceOpen: () => become(force(state, 'open')),
    forceClosed: () => become(force(state, 'closed')),
    release: () => become(release(rules, state, clock.now())),
    follow: (to) => become(follow(rules, state, to, clock.now())),
    toJSON: () => ({ state, counts: { ...counts } }),
  }
}
