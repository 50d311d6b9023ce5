import { bestMatch } from './pattern.ts'

/** In a subscription that is ordered by key: the types, exact or with a trailing `*`, that are, and those that are not. */
export interface Ordering {
  readonly types: readonly string[]
  readonly others: readonly string[]
}

/** The most exact name counts. Without any, every type is. */
export const isInOrder = (ordering: Ordering | undefined, type: string): boolean => {
  if (!ordering) return true
  const best = bestMatch([...ordering.types, ...ordering.others], type)
  return best !== undefined && ordering.types.includes(best)
}
