import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BreakerRules, type BreakerState, closedBreaker, fail, succeed } from './breaker.ts'
import { reachesRate, recorded, type Window } from './breaker-window.ts'

const RULES: BreakerRules = { name: 'crm', failures: 1000, open: 30_000, probes: 1, successes: 1 }

/** '.' a success, 'x' a failure, one each `every` milliseconds; the number of those before it opened. */
const openedBy = (rules: Partial<BreakerRules>, outcomes: string, every = 0): number | 'never' => {
  let state: BreakerState = closedBreaker
  let now = 1_000_000
  for (const [index, outcome] of [...outcomes].entries()) {
    const all = { ...RULES, ...rules }
    state = outcome === 'x' ? fail(all, state, 0, now, Math.random) : succeed(all, state, 0, now)
    if (state.is !== 'closed') return index
    now += every
  }
  return 'never'
}

describe('a rate of failures', () => {
  it.each([
    // rate, window, volume, outcomes, opened by
    ['half of the last ten', { rate: 0.5, window: { calls: 10 } }, '.....xxxxx', 9],
    ['less than half', { rate: 0.5, window: { calls: 10 } }, '......xxxx', 'never'],
    ['not below the volume', { rate: 0.5, window: { calls: 10 }, volume: 4 }, 'xxxx', 3],
    ['a window smaller than the volume', { rate: 0.5, window: { calls: 4 } }, '..xx', 3],
    ['ten where no volume is told', { rate: 0.5 }, 'xxxxxxxxxx', 9],
    ['what has left the window', { rate: 0.5, window: { calls: 4 } }, 'xx....x....x....x', 'never'],
    ['a success opens nothing', { rate: 0.5, window: { calls: 10 }, volume: 4 }, 'xxx...x', 6],
    ['every failure', { rate: 0, volume: 1 }, '.....x', 5],
    ['all of them', { rate: 1, window: { calls: 3 } }, '..xx.xxx', 7],
    [
      'the last hundred where no window is told',
      { rate: 0.3, volume: 100 },
      `${'x'.repeat(29)}${'.'.repeat(70)}x`,
      99,
    ],
    ['and no more than them', { rate: 0.3, volume: 100 }, `${'x'.repeat(29)}${'.'.repeat(100)}x`, 'never'],
  ] as const)('%s', (_, rules, outcomes, opened) => {
    expect(openedBy(rules, outcomes)).toBe(opened)
  })

  it('counts failures in a row too', () => {
    expect(openedBy({ failures: 3, rate: 0.9, window: { calls: 100 } }, '........xxx')).toBe(10)
  })

  it('of the last while: older calls have left', () => {
    const rules = { rate: 0.5, window: { time: 10_000 }, volume: 4 }
    expect(openedBy(rules, '....xxxx', 1000)).toBe(7)
    // one each 2.5 s: never more than five in the window
    expect(openedBy({ ...rules, volume: 6 }, 'xxxxxxxxxxxxxxxxxxxx', 2500)).toBe('never')
    expect(openedBy({ ...rules, volume: 4 }, 'xxxxxxxxxxxxxxxxxxxx', 2500)).toBe(3)
  })

  it('means nothing without a rate', () => {
    const { rate: _, ...rules } = RULES
    expect(openedBy({ ...rules, window: { calls: 10 } }, 'x'.repeat(999))).toBe('never')
    expect(reachesRate(RULES, recorded(RULES, undefined, true, 0))).toBe(false)
  })
})

describe('the window', () => {
  it('of calls holds exactly the last ones', () => {
    const window = { calls: 37 }
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (outcomes) => {
        let kept: Window | undefined
        for (const [index, failed] of outcomes.entries()) {
          kept = recorded({ ...RULES, window }, kept, failed, 0)
          const last = outcomes.slice(Math.max(0, index + 1 - 37), index + 1)
          expect(kept).toMatchObject({ calls: last.length, failures: last.filter(Boolean).length })
        }
      }),
    )
  })

  it('of time holds all of the last nine tenths, and nothing older than all of it', () => {
    const time = 1000
    const outcome = fc.record({ passing: fc.nat(700), failed: fc.boolean() })
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), (outcomes) => {
        let kept: Window | undefined
        let now = 5000
        const all: { at: number; failed: boolean }[] = []
        for (const { passing, failed } of outcomes) {
          now += passing
          all.push({ at: now, failed })
          kept = recorded({ ...RULES, window: { time } }, kept, failed, now)
          if (kept.of !== 'time') throw new Error('of time')
          const sum = (each: readonly number[]) => each.reduce((a, b) => a + b, 0)
          const within = (ms: number) => all.filter(({ at }) => now - at <= ms)
          expect(sum(kept.calls)).toBeGreaterThanOrEqual(within(900).length)
          expect(sum(kept.calls)).toBeLessThanOrEqual(within(1000).length)
          expect(sum(kept.failures)).toBeGreaterThanOrEqual(within(900).filter((each) => each.failed).length)
          expect(sum(kept.failures)).toBeLessThanOrEqual(within(1000).filter((each) => each.failed).length)
        }
      }),
    )
  })

  it('of time goes on in its newest bucket when the clock is put back a little, and begins anew when it is much', () => {
    const rules = { ...RULES, window: { time: 1000 } }
    const first = recorded(rules, undefined, true, 50_000)
    expect(recorded(rules, first, true, 49_900)).toMatchObject({
      newest: 500,
      failures: [0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
    })
    expect(recorded(rules, first, true, 49_000)).toMatchObject({
      newest: 490,
      failures: [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    })
  })

  it('begins anew when the rules have another', () => {
    const old = recorded({ ...RULES, window: { calls: 10 } }, undefined, true, 50_000)
    expect(recorded({ ...RULES, window: { calls: 20 } }, old, true, 50_000)).toMatchObject({
      size: 20,
      calls: 1,
    })
    expect(recorded({ ...RULES, window: { time: 1000 } }, old, true, 50_000)).toMatchObject({
      of: 'time',
      newest: 500,
    })
    const timed = recorded({ ...RULES, window: { time: 1000 } }, undefined, true, 50_000)
    expect(recorded({ ...RULES, window: { time: 1010 } }, timed, false, 50_000)).toMatchObject({
      width: 101,
      failures: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    })
    expect(recorded({ ...RULES, window: { time: 2000 } }, timed, false, 50_000)).toMatchObject({
      newest: 250,
      width: 200,
    })
  })
})
