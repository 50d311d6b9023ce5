import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { BreakerRules } from './breaker-rules.ts'
import { recorded, type Window } from './breaker-window.ts'

const rules = (calls: number): BreakerRules => ({
  name: 'b',
  failures: 1000,
  rate: 0.5,
  window: { calls },
  open: 1,
  probes: 1,
  successes: 1,
})
const after = (size: number, outcomes: readonly boolean[]): Window | undefined =>
  outcomes.reduce<Window | undefined>((window, failed) => recorded(rules(size), window, failed, 0), undefined)

it('a window of calls counts the last of them, however often it went round', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 70 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 300 }),
      (size, outcomes) => {
        const last = outcomes.slice(-size)
        expect(after(size, outcomes)).toMatchObject({
          calls: last.length,
          failures: last.filter(Boolean).length,
        })
      },
    ),
  )
})

it('and keeps a bit for each, no more', () => {
  expect(after(1, [true])).toMatchObject({ bits: [1] })
  expect(after(32, [true, false, true])).toMatchObject({ bits: [0b101] })
  expect(after(33, [false, true])).toMatchObject({ bits: [0b10, 0] })
  // round once: the failure that leaves is overwritten by a success, and by a failure
  expect(after(2, [true, false, false])).toMatchObject({ bits: [0], failures: 0 })
  expect(after(2, [true, false, true])).toMatchObject({ bits: [1], failures: 1 })
})
