import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { breaker, closedBreaker, type Signal } from '../core/breaker.ts'
import { noCounts, tally } from '../core/breaker-counts.ts'
import { loadedDice } from '../testing/dice.ts'
import { type Change, createGuard } from './guard.ts'
import { breakerRules } from './guard-rules.ts'

const at = (now: number) => ({ clock: { now: () => now }, dice: loadedDice(1) })

describe('a guard', () => {
  it('does and counts as the pure breaker does', () => {
    const kinds = [
      'ask',
      'ask',
      'success',
      'failure',
      'failure',
      'ignored',
      'force',
      'release',
      'pass',
    ] as const
    const rules = [
      breakerRules('handlerBreaker'),
      breakerRules({ failures: 2, open: 50, probes: 2, spread: 0.2, ramp: 100 }),
      breakerRules({ failures: 9, rate: 0.5, volume: 3, window: { calls: 5 }, open: 50 }),
    ]
    const moves = fc.array(fc.record({ is: fc.constantFrom(...kinds), n: fc.nat(100) }), {
      maxLength: 100,
      size: 'max',
    })
    fc.assert(
      fc.property(fc.constantFrom(...rules), moves, fc.nat(), (all, each, seed) => {
        let now = 1000
        let state = closedBreaker
        let counts = noCounts
        const held: number[] = []
        const dice = loadedDice(seed)
        const guard = createGuard(all, { clock: { now: () => now }, dice: loadedDice(seed) })
        for (const { is, n } of each) {
          if (is === 'pass') {
            now += n
            continue
          }
          const permit = held[n % Math.max(1, held.length)] ?? 0
          const signal = (is === 'force' ? { is, to: n % 2 ? 'open' : 'closed' } : { is, permit }) as Signal
          const step = breaker(all, state, signal, now, dice.next)
          counts = tally(counts, is, state, step)
          state = step.state
          if (is === 'ask') {
            const answer = guard.ask()
            expect(answer).toEqual('permit' in step ? step.permit : 'refused' in step && step.refused)
            if (typeof answer === 'number') held.push(answer)
          } else if (is === 'force') n % 2 ? guard.forceOpen() : guard.forceClosed()
          else if (is === 'release') guard.release()
          else if (is === 'ignored') guard.ignore(permit)
          else guard[is](permit)
          expect(guard.toJSON()).toEqual({ state, counts })
        }
      }),
    )
  })

  it('tells each change of state, once', () => {
    const changes: Change[] = []
    const guard = createGuard(breakerRules({ name: 'crm', failures: 1 }), {
      ...at(5),
      onChange: (change) => changes.push(change),
    })
    guard.failure(guard.ask() as number)
    guard.ask()
    guard.forceClosed()
    guard.forceClosed()
    guard.release()
    expect(changes).toEqual([
      { name: 'crm', from: 'closed', to: 'open', at: 5 },
      { name: 'crm', from: 'open', to: 'forced closed', at: 5 },
      { name: 'crm', from: 'forced closed', to: 'closed', at: 5 },
    ])
  })

  it('is made again from what was kept', () => {
    const rules = breakerRules({ failures: 1, open: '30s' })
    const first = createGuard(rules, at(1000))
    first.failure(first.ask() as number)
    const kept = JSON.parse(JSON.stringify(first))
    const second = createGuard(rules, { ...at(2000), from: kept })
    expect(second.ask()).toEqual({ because: 'open', retryAt: 31_000 })
    expect(second.counts).toEqual({ calls: 1, successes: 0, failures: 1, rejections: 1, transitions: 1 })
    // and what it counts does not reach what was kept
    expect(kept.counts.rejections).toBe(0)
  })

  it('keeps apart what is guarded apart', () => {
    const [one, other] = [breakerRules('smtp'), breakerRules('sms')].map((rules) => createGuard(rules, at(0)))
    for (let i = 0; i < 5; i++) one!.failure(one!.ask() as number)
    expect([one!.state.is, other!.state.is]).toEqual(['open', 'closed'])
  })
})

describe('the rules of a breaker', () => {
  it('by name: what is built in for handlers and databases', () => {
    expect(breakerRules('handlerBreaker')).toEqual({
      name: 'handlerBreaker',
      failures: 5,
      open: 30_000,
      probes: 1,
      successes: 2,
    })
    expect(breakerRules('postgres')).toMatchObject({ failures: 3, open: 30_000, probes: 1 })
  })

  it('in place, over what is usual: 5 failures, 30 s', () => {
    expect(breakerRules({})).toEqual({ name: 'bare', failures: 5, open: 30_000, probes: 1, successes: 1 })
    expect(
      breakerRules({
        name: 'crm',
        failures: 10,
        rate: 0.5,
        window: { time: '1m' },
        volume: 20,
        open: '5m',
        spread: 0.1,
        probes: 3,
        probeLease: '10s',
        successes: 3,
        interval: 60_000,
        ramp: '30s',
      }),
    ).toEqual({
      name: 'crm',
      failures: 10,
      rate: 0.5,
      window: { time: 60_000 },
      volume: 20,
      open: 300_000,
      spread: 0.1,
      probes: 3,
      probeLease: 10_000,
      successes: 3,
      interval: 60_000,
      ramp: 30_000,
    })
  })

  it.each([
    [{ failures: 0 }, 'breaker.failures: found 0, expected a whole number from 1'],
    [{ probes: 1.5 }, 'breaker.probes: found 1.5, expected a whole number from 1'],
    [{ successes: Number.NaN }, 'breaker.successes: found NaN, expected a whole number from 1'],
    [{ window: { calls: 0 } }, 'breaker.window.calls: found 0, expected a whole number from 1'],
    [{ rate: 50 }, 'breaker.rate: found 50, expected a share from 0 to 1'],
    [{ spread: -1 }, 'breaker.spread: found -1, expected a share from 0 to 1'],
    [{ open: 'soon' }, "breaker.open: found 'soon', expected a duration such as 500ms"],
    [{ window: { time: -1 } }, "breaker.window.time: found '-1', expected a duration such as 500ms"],
  ])('%j is told', (spec, message) => {
    expect(() => breakerRules(spec)).toThrow(message)
  })

  it('an unknown name is told with those that are known', () => {
    expect(() => breakerRules('smpt')).toThrow(/found 'smpt', expected one of kafkaBreaker.*smtp/)
  })
})
