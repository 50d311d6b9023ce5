import type { Fact } from '../contracts/journal.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Instant } from '../core/time.ts'
import { type VirtualClock, virtualClock } from './clock.ts'
import { loadedDice } from './dice.ts'

export interface TestTools extends Tools {
  readonly clock: VirtualClock
  /** What the journal was told, oldest first. */
  readonly facts: Fact[]
}

/** Tools for a test: a clock to turn, dice that fall the same way each time, and a journal to read. */
export const testTools = (
  options: { seed?: number; start?: Instant; busy?: () => boolean } = {},
): TestTools => {
  const clock = virtualClock(options.start, options.busy)
  const facts: Fact[] = []
  return { clock, dice: loadedDice(options.seed, clock.now), journal: (fact) => facts.push(fact), facts }
}
