import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadedDice } from '../testing/dice.ts'
import {
  type BreakerRules,
  type BreakerState,
  breaker,
  closedBreaker,
  type Permit,
  type Signal,
  type Step,
} from './breaker.ts'
import { noCounts, tally } from './breaker-counts.ts'

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const rules: fc.Arbitrary<BreakerRules> = fc
  .record({
    name: fc.constant('any'),
    failures: fc.integer({ min: 1, max: 6 }),
    rate: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
    window: maybe(
      fc.oneof(
        fc.record({ calls: fc.integer({ min: 1, max: 70 }) }),
        fc.record({ time: fc.integer({ min: 0, max: 2000 }) }),
      ),
    ),
    volume: maybe(fc.integer({ min: 1, max: 10 })),
    open: fc.integer({ min: 0, max: 1000 }),
    spread: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
    probes: fc.integer({ min: 1, max: 4 }),
    probeLease: maybe(fc.integer({ min: 1, max: 1500 })),
    successes: fc.integer({ min: 1, max: 4 }),
    interval: maybe(fc.integer({ min: 1, max: 1500 })),
    ramp: maybe(fc.integer({ min: 0, max: 1500 })),
  })
  .map(
    (record) =>
      Object.fromEntries(
        Object.entries(record).filter(([, value]) => value !== undefined),
      ) as unknown as BreakerRules,
  )

/** What may happen next. `which` picks one of the permits given so far, an old one too. */
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ is: fc.constant('ask' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      is: fc.constantFrom('success' as const, 'failure' as const, 'failure' as const),
      which: fc.nat(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constantFrom('ignored' as const, 'lost' as const), which: fc.nat() }),
  },
  { weight: 3, arbitrary: fc.record({ is: fc.constant('pass' as const), ms: fc.nat(900) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('put back' as const), ms: fc.nat(5000) }) },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('force' as const), to: fc.constantFrom('open', 'closed') }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('release' as const) }) },
)
const story = (most = 200) => fc.array(event, { maxLength: most, size: 'max' })
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

interface Moment {
  readonly signal: Signal
  readonly before: BreakerState
  readonly step: Step
  readonly now: number
}

/** Plays a story; each permit is answered at most once unless `twice`. Time goes back only where it `may`. */
const play = (
  all: BreakerRules,
  events: readonly Event[],
  { seed = 1, json = false, back = true, twice = false } = {},
): readonly Moment[] => {
  const dice = loadedDice(seed)
  const held: Permit[] = []
  const moments: Moment[] = []
  let state: BreakerState = closedBreaker
  let now = 1_000_000
  for (const each of events) {
    if (each.is === 'pass') now += each.ms
    else if (each.is === 'put back') now -= back ? each.ms : 0
    else {
      const signal = signalOf(each, held, twice)
      if (!signal) continue
      const before: BreakerState = json ? JSON.parse(JSON.stringify(state)) : state
      const step: Step = breaker(all, before, signal, now, dice.next)
      moments.push({ signal, before, step, now })
      state = step.state
      if ('permit' in step) held.push(step.permit)
    }
  }
  return moments
}

const signalOf = (event: Event, held: Permit[], twice: boolean): Signal | undefined => {
  if (!('which' in event)) return event as Signal
  const place = event.which % Math.max(1, held.length)
  const permit = held[place]
  if (permit === undefined) return undefined
  if (!twice) held.splice(place, 1)
  return { is: event.is, permit }
}

/** Everything drawn, and nothing of it thrown. */
const forAll = (check: (all: BreakerRules, events: readonly Event[], seed: number) => void) =>
  fc.assert(fc.property(rules, story(), fc.nat(), check))

describe('whatever happens to a breaker', () => {
  it('never more than N probes are out', () => {
    forAll((all, events, seed) => {
      const out = new Map<Permit, number>()
      const lease = all.probeLease ?? Math.max(all.open, 1000)
      for (const { signal, before, step, now } of play(all, events, { seed, back: false })) {
        if ('permit' in signal) out.delete(signal.permit)
        if (step.state.is !== 'half-open') {
          out.clear()
          continue
        }
        if ('permit' in step) out.set(step.permit, now)
        const live = [...out.values()].filter((since) => now - since < lease)
        expect(live.length, before.is).toBeLessThanOrEqual(all.probes)
        expect(step.state.probes.length).toBeLessThanOrEqual(all.probes)
      }
    })
  })

  it('its state survives JSON at any step', () => {
    forAll((all, events, seed) => {
      const straight = play(all, events, { seed })
      const through = play(all, events, { seed, json: true })
      expect(through).toEqual(straight)
      for (const { step } of straight)
        expect(JSON.parse(JSON.stringify(step.state))).toStrictEqual(step.state)
    })
  })

  it('an open one lets nothing through before its time', () => {
    forAll((all, events, seed) => {
      for (const { signal, before, step, now } of play(all, events, { seed, back: false })) {
        if (signal.is !== 'ask' || before.is !== 'open') continue
        expect('permit' in step).toBe(now >= before.until)
        if ('refused' in step) expect(step.refused.retryAt).toBe(before.until)
        expect(before.until - before.since).toBeLessThanOrEqual(all.open * (1 + (all.spread ?? 0)) + 0.5)
        expect(before.until - before.since).toBeGreaterThanOrEqual(all.open * (1 - (all.spread ?? 0)) - 0.5)
      }
    })
  })

  it('its counts agree with what it said', () => {
    forAll((all, events, seed) => {
      const moments = play(all, events, { seed })
      let counts = noCounts
      for (const { signal, before, step } of moments) counts = tally(counts, signal.is, before, step)
      const asked = moments.filter(({ signal }) => signal.is === 'ask').length
      expect(counts.calls + counts.rejections).toBe(asked)
      expect(counts.successes + counts.failures).toBeLessThanOrEqual(counts.calls)
      const opened = moments.filter(({ before, step }) => before.is !== 'open' && step.state.is === 'open')
      const left = moments.filter(({ before, step }) => before.is === 'open' && step.state.is !== 'open')
      expect(opened.length - left.length).toBe(moments.at(-1)?.step.state.is === 'open' ? 1 : 0)
      expect(counts.transitions).toBeGreaterThanOrEqual(opened.length + left.length)
    })
  })

  it('only a failure opens it, only a success of a probe or a hand closes it', () => {
    forAll((all, events, seed) => {
      for (const { signal, before, step } of play(all, events, { seed, twice: true })) {
        if (before.is !== 'open' && step.state.is === 'open') expect(signal.is).toBe('failure')
        if (before.is !== 'closed' && step.state.is === 'closed') {
          if (signal.is === 'release') continue
          expect([before.is, signal.is]).toEqual(['half-open', 'success'])
        }
      }
    })
  })

  it('no permit is given for a second time, but for calls of the same closed time', () => {
    forAll((all, events, seed) => {
      const last = new Map<Permit, number>()
      let era = 0
      for (const { before, step } of play(all, events, { seed })) {
        if (before.is !== step.state.is) era++
        if (!('permit' in step)) continue
        const known = last.get(step.permit)
        if (known !== undefined)
          expect([known, step.state.is]).toEqual([era, expect.stringContaining('closed')])
        last.set(step.permit, era)
      }
    })
  })

  it('it lets something through in the end, however the clock was turned', () => {
    forAll((all, events, seed) => {
      const moments = play(all, events, { seed, twice: true })
      const last = moments.at(-1)
      let state = last?.step.state ?? closedBreaker
      if (state.is === 'forced open') return
      const now = 1_000_000
      // whatever time it believed it was: two asks as far apart as its longest wait, and a lucky throw
      const longest = Math.max(all.open * 2, all.probeLease ?? 0, all.ramp ?? 0, 1000)
      const first = breaker(all, state, { is: 'ask' }, now, () => 0)
      state = first.state
      const second = breaker(all, state, { is: 'ask' }, now + longest, () => 0)
      expect('permit' in first || 'permit' in second).toBe(true)
    })
  })
})
