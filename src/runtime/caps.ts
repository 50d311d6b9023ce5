import type { Rules } from '../rules/index.ts'
import { type Cap, createCap } from './lanes.ts'

/** One cap for each row of the rules that has a concurrency of its own, whichever of its events come. */
export const createCaps = (): ((of: Rules['concurrency']) => Cap | undefined) => {
  const caps = new Map<string, Cap>()
  return (of) => {
    if (!of) return undefined
    const known = caps.get(of.row)
    if (known) return known
    const made = createCap(of.most)
    caps.set(of.row, made)
    return made
  }
}
