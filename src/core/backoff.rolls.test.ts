import { expect, it } from 'vitest'
import { delayOf, longerDelayOf } from './backoff.ts'
import type { Backoff } from './policy.ts'

const rollsOf = (draw: (roll: () => number) => number): number => {
  let rolls = 0
  draw(() => {
    rolls++
    return 0.5
  })
  return rolls
}

// Who replays a trace has the same dice: one roll more and all that follows is another.
it.each<[Backoff, number, number]>([
  [{ kind: 'fixed', delay: 100, jitter: { kind: 'full' } }, 1, 1],
  [
    {
      kind: 'exponential',
      initial: 100,
      multiplier: 2,
      max: 1000,
      firstExponent: 0,
      jitter: { kind: 'half' },
    },
    1,
    1,
  ],
  // one step longer than a decorrelated delay grows out of that delay, so it is drawn as well
  [{ kind: 'decorrelated', initial: 100, multiplier: 3, max: 1000 }, 1, 2],
])('%j takes %i roll, and %i for one step longer', (backoff, once, longer) => {
  expect(rollsOf((roll) => delayOf(backoff, 1, roll))).toBe(once)
  expect(rollsOf((roll) => longerDelayOf(backoff, 1, roll))).toBe(longer)
})
