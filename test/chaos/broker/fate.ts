/** What must become of event number n, so that whoever counts knows the answer beforehand. */
export type Fate = 'done' | 'refused' | 'exhausted'

/** How often an event is tried at most, by the rules. */
export const ATTEMPTS = 5
/** Those that call a dependency outlast its outage. */
const PATIENT = 1 + 1000

export const fateOf = (n: number): Fate => {
  if (n % 100 === 7) return 'refused'
  return n % 100 === 57 ? 'exhausted' : 'done'
}

/** How many attempts fail before one goes well. */
export const failuresOf = (n: number): number => (n % 10 === 3 ? 1 + (n % 3) : 0)

/** It calls the dependency that is down at first, and is done when that is there again. */
export const isDependent = (n: number): boolean => n % 10 === 1

/** How many of the first so many call it. */
export const dependentsOf = (count: number): number => Math.floor((count + 8) / 10)

/** Dependent ones have a type of their own, for which the rules name the dependency; both are on one topic. */
export const typeOf = (type: string, n: number): string => (isDependent(n) ? dependentType(type) : type)

export const dependentType = (type: string): string => `${type}.crm`

export const limitOf = (n: number): number => (isDependent(n) ? PATIENT : ATTEMPTS)
