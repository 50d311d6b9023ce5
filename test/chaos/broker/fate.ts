/** What must become of event number n, so that whoever counts knows the answer beforehand. */
export type Fate = 'done' | 'refused' | 'exhausted'

/** How often an event is tried at most, by broker.yaml. */
export const ATTEMPTS = 5

export const fateOf = (n: number): Fate => {
  if (n % 100 === 7) return 'refused'
  return n % 100 === 57 ? 'exhausted' : 'done'
}

/** How many attempts fail before one goes well. */
export const failuresOf = (n: number): number => (n % 10 === 3 ? 1 + (n % 3) : 0)
