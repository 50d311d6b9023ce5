/** Ids made of content that were handed over in one session. */
export interface Twins {
  /** Whether such a one was handed over before. */
  seen(id: string): boolean
}

/** Those that are alike died in the same second: they come close together. */
const MOST_REMEMBERED = 10_000

export const freshTwins = (): Twins => {
  const known = new Set<string>()
  return {
    seen: (id) => {
      const before = known.delete(id)
      known.add(id)
      if (known.size > MOST_REMEMBERED) known.delete(known.values().next().value!)
      return before
    },
  }
}
