import { expect, it } from 'vitest'
import { type BreakerRules, type BreakerState, closedBreaker, fail, follow, succeed } from './breaker.ts'

const RULES: BreakerRules = { name: 'crm', failures: 3, open: 30_000, probes: 1, successes: 1 }
const OPEN: BreakerState = { is: 'open', serial: 4, since: 5, until: 30_005 }
const HALF: BreakerState = { is: 'half-open', serial: 4, probes: [{ permit: 4, since: 7 }], successes: 0 }

it('opens as all have decided, and what began before changes nothing any more', () => {
  const to = { is: 'open', since: 10, until: 40 } as const
  const state = follow(RULES, closedBreaker, to, 12)
  expect(state).toEqual({ is: 'open', serial: 0, since: 10, until: 40 })
  expect(fail(RULES, state, 0, 13, () => 0)).toBe(state)
  expect(succeed(RULES, state, 0, 13)).toBe(state)
  expect(follow(RULES, HALF, to, 12)).toEqual({ is: 'open', serial: 4, since: 10, until: 40 })
})

it('is half-open without a probe, and keeps those that it has', () => {
  expect(follow(RULES, OPEN, { is: 'half-open' }, 12)).toEqual({
    is: 'half-open',
    serial: 4,
    probes: [],
    successes: 0,
  })
  expect(follow(RULES, HALF, { is: 'half-open' }, 12)).toBe(HALF)
})

it('closes by its ramp, with permits of its own', () => {
  expect(follow({ ...RULES, ramp: 1000 }, HALF, { is: 'closed' }, 12)).toEqual({
    is: 'closed',
    serial: 5,
    failures: 0,
    rampSince: 12,
  })
  expect(follow(RULES, closedBreaker, { is: 'closed' }, 12)).toBe(closedBreaker)
})

it('does not follow against an operator’s hand', () => {
  for (const is of ['forced open', 'forced closed'] as const) {
    const forced: BreakerState = { is, serial: 1 }
    for (const to of ['half-open', 'closed'] as const)
      expect(follow(RULES, forced, { is: to }, 5)).toBe(forced)
    expect(follow(RULES, forced, { is: 'open', since: 1, until: 9 }, 5)).toBe(forced)
  }
})
