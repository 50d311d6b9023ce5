import type { Tools } from '../contracts/tools.ts'
import type { BreakerRules, Refusal } from '../core/breaker.ts'
import type { Instant } from '../core/time.ts'
import type { Dependency, Rules } from '../rules/index.ts'
import { createGuard, type Guard } from './guard.ts'
import type { Sharing } from './sharing.ts'

/** Why a call may not be made now, and when it is worth asking again. */
export interface Refused {
  readonly by: string
  readonly because: string
  readonly retryAt: Instant
}

/**
 * The breakers and budgets of one process: one for each dependency, whichever services use it, and one for each handler
 * whose rules have a breaker. Made when they are first asked for, and then shared with all processes that have the same.
 */
export interface Guards {
  /** Before a call to a dependency; `retry`: it is not the first one for its event. Whoever is let through says once how it ended. */
  enter(dependency: string, retry: boolean): Entered | Refused
  /** Before an attempt: all that its rules depend on, and the handler's own breaker, which is told how it ended. */
  admit(rules: Rules, pattern: string, retry: boolean): Entered | Refused
  /** Whether an attempt by these rules would be refused now. Nothing is taken by asking. */
  refusal(rules: Rules, pattern: string, retry: boolean): Refused | undefined
  /** Which are forced, by name, and which way; all others go by themselves. Those made later obey too. */
  obey(forces: ReadonlyMap<string, 'open' | 'closed'>): void
  all(): readonly Guard[]
  /** How many may be tried at once by these rules: fewer while a breaker is not sure. */
  most(rules: Rules, pattern: string): number
}

export interface Entered {
  success(): void
  failure(): void
  /** It says nothing of the dependency. */
  ignore(): void
}

const FREE: Entered = { success: () => {}, failure: () => {}, ignore: () => {} }

export const createGuards = (
  dependencyOf: (name: string) => Dependency,
  { clock, dice, journal }: Tools,
  sharing: Pick<Sharing, 'join' | 'ask'>,
): Guards => {
  const guards = new Map<string, Guard>()
  let forces: ReadonlyMap<string, 'open' | 'closed'> = new Map()

  const guardOf = (key: string, rules: BreakerRules): Guard => {
    const known = guards.get(key)
    if (known) return known
    const made = sharing.join(
      createGuard(
        { ...rules, name: key },
        {
          clock,
          dice,
          onChange: ({ from, to, at }) => journal({ at, is: 'breaker', name: key, from, to }),
        },
      ),
    )
    guards.set(key, made)
    bend(made)
    return made
  }

  const bend = (guard: Guard): void => {
    const to = forces.get(guard.name)
    if (to === 'open') guard.forceOpen()
    else if (to === 'closed') guard.forceClosed()
    else guard.release()
  }

  const ofDependency = (dependency: Dependency): Guard | undefined =>
    dependency.breaker && guardOf(dependency.name, dependency.breaker)

  const ofHandler = ({ service, breaker }: Rules, pattern: string): Guard | undefined =>
    breaker && guardOf(`${service}/${pattern}`, breaker)

  const closed = (guard: Guard): Refused | undefined => {
    const refused = guard.peek()
    return refused && told(guard, refused)
  }

  /** A probe is soon over, mostly: those who wait for it need not wait for its lease. */
  const told = (guard: Guard, { retryAt }: Refusal): Refused => ({
    by: guard.name,
    because: whyOf(guard),
    retryAt: guard.state.is === 'half-open' ? Math.min(retryAt, clock.now() + A_PROBE) : retryAt,
  })

  /** Where a budget has no token for a retry; `take`: and if it has, it is spent. */
  const broke = (dependency: Dependency, retry: boolean, take: boolean): Refused | undefined => {
    const { name, budget: rules } = dependency
    if (!rules || (!retry && !take)) return undefined
    const { granted, due } = sharing.ask(name, rules, retry ? 'retry' : 'call', take)
    if (granted) return undefined
    const because = `the retry budget of ${name} is spent`
    return { by: name, because, retryAt: due ?? clock.now() + NO_TOKEN }
  }

  const guardsOf = (rules: Rules, pattern: string): Guard[] =>
    [...rules.dependencies.map(ofDependency), ofHandler(rules, pattern)].filter(
      (guard) => guard !== undefined,
    )

  const through = (guard: Guard): Entered | Refused => {
    const asked = guard.ask()
    if (typeof asked !== 'number') return told(guard, asked)
    return {
      success: () => guard.success(asked),
      failure: () => guard.failure(asked),
      ignore: () => guard.ignore(asked),
    }
  }

  const refusal: Guards['refusal'] = (rules, pattern, retry) => {
    if (rules.dependencies.length === 0 && !rules.breaker) return undefined
    for (const guard of guardsOf(rules, pattern)) {
      const refused = closed(guard)
      if (refused) return refused
    }
    for (const dependency of rules.dependencies) {
      const refused = broke(dependency, retry, false)
      if (refused) return refused
    }
    return undefined
  }

  return {
    enter: (name, retry) => {
      const dependency = dependencyOf(name)
      const refused = broke(dependency, retry, true)
      if (refused) return refused
      const guard = ofDependency(dependency)
      return guard ? through(guard) : FREE
    },
    admit: (rules, pattern, retry) => {
      const refused = refusal(rules, pattern, retry)
      if (refused) return refused
      const guard = ofHandler(rules, pattern)
      return guard ? through(guard) : FREE
    },
    refusal,
    obey: (ordered) => {
      forces = ordered
      for (const guard of guards.values()) bend(guard)
    },
    all: () => [...guards.values()],
    most: (rules, pattern) => {
      const unsure = guardsOf(rules, pattern).filter(
        ({ state }) => state.is === 'open' || state.is === 'half-open',
      )
      return Math.min(Number.POSITIVE_INFINITY, ...unsure.map(({ rules: { probes } }) => probes))
    },
  }
}

const A_PROBE = 1000

/** Only first calls bring tokens, and nobody knows when one comes. */
const NO_TOKEN = 1000

const whyOf = ({ name, state }: Guard): string =>
  state.is === 'half-open'
    ? `the breaker of ${name} is being probed`
    : state.is === 'closed'
      ? `the breaker of ${name} lets calls through step by step`
      : `the breaker of ${name} is open`
