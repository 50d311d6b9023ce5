import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type BudgetRules,
  type BudgetSignal,
  type BudgetState,
  budget,
  freshBudget,
  shareOf,
} from './budget.ts'

const RULES: BudgetRules = { ratio: 0.2, perSecond: 10, burst: 100 }

/** Asks so often in one moment, and says how often it was granted. */
const ask = (state: BudgetState, signal: BudgetSignal, times: number, now: number, rules: BudgetRules) => {
  let granted = 0
  let next = state
  for (let i = 0; i < times; i++) {
    const answer = budget(next, signal, now, rules)
    next = answer.state
    if (answer.granted) granted++
  }
  return { state: next, granted }
}

const broke = (rules: BudgetRules, now = 0): BudgetState =>
  ask(freshBudget(now, rules), 'retry', Math.ceil(rules.burst) + 1, now, rules).state

describe('a budget', () => {
  it('starts full, and pays each retry with a token', () => {
    expect(ask(freshBudget(0, RULES), 'retry', 150, 0, RULES).granted).toBe(100)
  })

  it('says when there will be a token, and has one then', () => {
    const refused = budget(broke(RULES, 5000), 'retry', 5000, RULES)
    expect(refused).toMatchObject({ granted: false, due: 5100 })
    expect(budget(refused.state, 'retry', 5099, RULES).granted).toBe(false)
    expect(budget(refused.state, 'retry', 5100, RULES).granted).toBe(true)
  })

  it('counts what it has already towards the next token', () => {
    const { state } = ask(broke(RULES), 'call', 2, 0, RULES)
    expect(budget(state, 'retry', 0, RULES).due).toBe(60)
  })

  it('tells no moment where only first calls bring tokens, and one where enough is saved', () => {
    const byCalls = { ...RULES, perSecond: 0, burst: 1 }
    const refused = budget(broke(byCalls), 'retry', 60_000, byCalls)
    expect(refused).toEqual({ state: { tokens: 0, at: 60_000 }, granted: false })
    expect(budget(freshBudget(0, RULES), 'retry', 0, RULES)).not.toHaveProperty('due')
  })

  it('never pays where less than one token can be saved, and promises nothing', () => {
    const none = { ratio: 1, perSecond: 10, burst: 0.5 }
    const refused = budget(freshBudget(0, none), 'retry', 1_000_000, none)
    expect(refused.granted).toBe(false)
    expect(refused).not.toHaveProperty('due')
  })

  it('adds its ratio with each first call, which is never refused', () => {
    const rules = { ratio: 0.2, perSecond: 0, burst: 10 }
    const { state, granted } = ask(broke(rules), 'call', 5, 0, rules)
    expect(granted).toBe(5)
    expect(ask(state, 'retry', 5, 0, rules).granted).toBe(1)
  })

  it('ten tenths are a token', () => {
    const rules = { ratio: 0.1, perSecond: 0, burst: 10 }
    const { state } = ask(broke(rules), 'call', 10, 0, rules)
    expect(state.tokens).toBeLessThan(1)
    expect(ask(state, 'retry', 2, 0, rules).granted).toBe(1)
  })

  it('saves no more than its burst, by time or by calls', () => {
    const rules = { ratio: 1, perSecond: 10, burst: 3 }
    expect(ask(broke(rules), 'retry', 9, 3_600_000, rules).granted).toBe(3)
    const { state } = ask(broke(rules), 'call', 50, 0, rules)
    expect(ask(state, 'retry', 9, 0, rules).granted).toBe(3)
  })

  it('keeps to a burst that was made smaller meanwhile', () => {
    expect(ask(freshBudget(0, RULES), 'retry', 50, 0, { ...RULES, burst: 7 }).granted).toBe(7)
  })

  it('brings nothing twice when the clock goes back', () => {
    const later = ask(broke(RULES), 'retry', 50, 1000, RULES)
    expect(later.granted).toBe(10)
    const back = ask(later.state, 'retry', 50, 0, RULES)
    expect(back.granted).toBe(0)
    expect(ask(back.state, 'retry', 50, 1000, RULES).granted).toBe(0)
    expect(budget(back.state, 'retry', 0, RULES).due).toBe(1100)
    expect(ask(back.state, 'retry', 50, 1100, RULES).granted).toBe(1)
  })
})

describe('for any course of events', () => {
  const anyRules = fc.record({
    ratio: fc.integer({ min: 0, max: 200 }).map((percent) => percent / 100),
    perSecond: fc.oneof(fc.nat(50), fc.constantFrom(0.1, 0.5, 3.3)),
    burst: fc.integer({ min: 1, max: 20 }),
  })
  /** Steps of the clock, sometimes back. */
  const course = fc.array(
    fc.record({
      signal: fc.constantFrom<BudgetSignal>('call', 'retry', 'retry', 'retry'),
      step: fc.oneof(fc.constant(0), fc.nat(200), fc.integer({ min: -500, max: 5000 })),
    }),
    { maxLength: 120 },
  )

  it('in no span are there more retries than burst + ratio × calls + perSecond × time', () => {
    fc.assert(
      fc.property(anyRules, course, (rules, steps) => {
        let state = freshBudget(0, rules)
        let now = 0
        let latest = 0
        const log = steps.map(({ signal, step }) => {
          now += step
          latest = Math.max(latest, now)
          const answer = budget(state, signal, now, rules)
          state = answer.state
          return { at: latest, call: signal === 'call', retry: signal === 'retry' && answer.granted }
        })
        for (let from = 0; from < log.length; from++) {
          let [calls, retries] = [0, 0]
          for (let to = from; to < log.length; to++) {
            if (log[to]!.call) calls++
            if (log[to]!.retry) retries++
            const seconds = (log[to]!.at - log[from]!.at) / 1000
            const most = rules.burst + rules.ratio * calls + rules.perSecond * seconds
            expect(retries).toBeLessThanOrEqual(most + 1e-6)
          }
        }
      }),
    )
  })

  it('the state is plain data: stored and read back after each step it goes on the same', () => {
    fc.assert(
      fc.property(anyRules, course, (rules, steps) => {
        let kept = freshBudget(0, rules)
        let stored = JSON.stringify(kept)
        let now = 0
        for (const { signal, step } of steps) {
          now += step
          const one = budget(kept, signal, now, rules)
          const other = budget(JSON.parse(stored), signal, now, rules)
          expect(other).toEqual(one)
          kept = one.state
          stored = JSON.stringify(other.state)
          expect(kept.tokens).toBeGreaterThanOrEqual(0)
          expect(kept.tokens).toBeLessThanOrEqual(rules.burst)
        }
      }),
    )
  })

  it('whoever comes when it was told to, and alone, is paid', () => {
    fc.assert(
      fc.property(anyRules, course, (rules, steps) => {
        let state = freshBudget(0, rules)
        let now = 0
        for (const { signal, step } of steps) {
          now += step
          const answer = budget(state, signal, now, rules)
          if (answer.due !== undefined) {
            expect(answer.due).toBeGreaterThan(now)
            expect(budget(answer.state, 'retry', answer.due, rules).granted).toBe(true)
          }
          state = answer.state
        }
      }),
    )
  })
})

describe('the share of one of several processes', () => {
  it('is a part of what comes by time and is saved up, and all of what its own calls bring', () => {
    expect(shareOf(RULES, 1)).toBe(RULES)
    expect(shareOf(RULES, 0)).toBe(RULES)
    expect(shareOf(RULES, 4)).toEqual({ ratio: 0.2, perSecond: 2.5, burst: 25 })
    expect(shareOf({ ...RULES, burst: 2 }, 4).burst).toBe(1)
  })

  it('all shares together grant no more than the whole would', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.record({ who: fc.nat(5), ms: fc.nat(400), call: fc.boolean() }), { maxLength: 200 }),
        (processes, acts) => {
          const rules = { ratio: 0.1, perSecond: 2, burst: 8 }
          const own = shareOf(rules, processes)
          // one of them begins with tokens
          const states = Array.from({ length: processes }, (_, n) =>
            n === 0 ? freshBudget(0, own) : { tokens: 0, at: 0 },
          )
          let now = 0
          let calls = 0
          let retries = 0
          for (const { who, ms, call } of acts) {
            now += ms
            const answer = budget(states[who % processes]!, call ? 'call' : 'retry', now, own)
            states[who % processes] = answer.state
            if (call) calls++
            else if (answer.granted) retries++
          }
          const most = rules.burst + rules.ratio * calls + (rules.perSecond * now) / 1000
          expect(retries).toBeLessThanOrEqual(most + 1e-6)
        },
      ),
    )
  })
})
