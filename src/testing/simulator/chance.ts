/** All chance of a simulation, from one number. */
export interface Chance {
  /** Uniform in [0, 1). */
  next(): number
  /** Whether something of this likelihood happens. */
  happens(likelihood: number): boolean
  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number
  pick<T>(choices: readonly [T, ...T[]]): T
  /** Another sequence, so that what one room draws does not change what another gets. */
  fork(): Chance
}

/** Mulberry32: neighbouring seeds have nothing in common from the first draw on. */
export const chanceOf = (seed: number): Chance => {
  let state = Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    happens: (likelihood) => likelihood > 0 && next() < likelihood,
    int,
    pick: (choices) => choices[int(0, choices.length - 1)]!,
    fork: () => chanceOf(Math.floor(next() * 2 ** 32)),
  }
}
