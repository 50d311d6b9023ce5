import type { Millis } from '../core/time.ts'
import {
  BARE_BREAKER,
  BARE_BUDGET,
  BARE_TIMEOUT,
  BREAKERS,
  type Breaker,
  type Budget,
  DEPENDENCIES,
  type Dependency,
  NO_BREAKER,
} from './builtin.ts'
import { extended } from './extended.ts'
import { present } from './present.ts'
import type { WrittenBreaker, WrittenDependency } from './schema.ts'

/** The book's own over the built-in ones. One that has a built-in one's name changes only what it says. */
export const buildBreakers = (
  written: Readonly<Record<string, WrittenBreaker>>,
): ReadonlyMap<string, Breaker> => extended(BREAKERS, written, buildBreaker)

export const buildDependencies = (
  written: Readonly<Record<string, WrittenDependency>>,
  timeouts: ReadonlyMap<string, Millis>,
  breakers: ReadonlyMap<string, Breaker>,
): ReadonlyMap<string, Dependency> =>
  extended(DEPENDENCIES, written, (name, own, base) => {
    const inherited = base?.breaker ?? { ...BARE_BREAKER, name }
    const breaker = own.breaker === undefined ? inherited : breakerOf(own.breaker, name, breakers, inherited)
    return {
      name,
      timeout: timeoutOf(own.timeout, timeouts) ?? base?.timeout ?? BARE_TIMEOUT,
      timeouts: { ...base?.timeouts, ...own.timeouts },
      ...(breaker && { breaker }),
      ...budgetOf(own.budget, base?.budget),
    }
  })

const budgetOf = (
  own: WrittenDependency['budget'],
  base: Budget | undefined,
): { readonly budget?: Budget } => {
  if (own === 'none') return {}
  if (own === undefined) return base ? { budget: base } : {}
  return { budget: { ...BARE_BUDGET, ...base, ...present(own) } }
}

/** A breaker by name or written in place, there over `base` or over the one that it extends. */
export const breakerOf = (
  written: string | WrittenBreaker,
  name: string,
  breakers: ReadonlyMap<string, Breaker>,
  base: Breaker | undefined,
): Breaker | undefined => {
  if (written === NO_BREAKER) return undefined
  if (typeof written === 'string') return breakers.get(written)
  return buildBreaker(name, written, written.extends === undefined ? base : breakers.get(written.extends))
}

export const timeoutOf = (
  written: Millis | string | undefined,
  timeouts: ReadonlyMap<string, Millis>,
): Millis | undefined => (typeof written === 'string' ? timeouts.get(written) : written)

const buildBreaker = (name: string, own: WrittenBreaker, base: Breaker = BARE_BREAKER): Breaker => {
  const { extends: _, ...figures } = own
  return { ...base, ...present(figures), name }
}
