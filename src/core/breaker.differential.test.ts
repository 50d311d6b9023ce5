import { BrokenCircuitError, CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import {
  ask,
  type BreakerRules,
  type BreakerState,
  closedBreaker,
  fail,
  type Permit,
  succeed,
} from './breaker.ts'

/**
 * The consecutive breaker beside another library's, through the same calls. Three things are left out because they are
 * meant to differ: there, the result of a call that began before a trip still counts after it; a call that finds the
 * probe out waits for it, while ours is refused; and a lost probe is waited for without end.
 */

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const event = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ is: 'call' as const }) },
  {
    weight: 5,
    arbitrary: fc.record({ is: fc.constant('finish' as const), which: fc.nat(), well: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('pass' as const), ms: fc.nat(400) }) },
)

const STATES = { closed: CircuitState.Closed, open: CircuitState.Open, 'half-open': CircuitState.HalfOpen }

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('does as an independent library does, over random calls', async () => {
  let [opened, closedAgain, refusals] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 500 }),
      fc.array(event, { maxLength: 120, size: 'max' }),
      async (failures, open, events) => {
        const rules: BreakerRules = { name: 'any', failures, open, probes: 1, probeLease: 1e12, successes: 1 }
        const theirs = circuitBreaker(handleAll, {
          halfOpenAfter: open,
          breaker: new ConsecutiveBreaker(failures),
        })
        let ours: BreakerState = closedBreaker
        let out: { permit: Permit; end: (well: boolean) => void }[] = []
        const roll = () => 0.5
        for (const each of events) {
          const now = Date.now()
          const before = ours.is
          if (each.is === 'pass') vi.setSystemTime(now + each.ms)
          else if (each.is === 'call') {
            const asked = ask(rules, ours, now, roll)
            ours = asked.state
            if ('refused' in asked && asked.refused.because === 'probing') {
              expect(theirs.state).toBe(CircuitState.HalfOpen)
              continue
            }
            const work = Promise.withResolvers<void>()
            const refused = theirs
              .execute(() => work.promise)
              .then(
                () => false,
                (error) => error instanceof BrokenCircuitError,
              )
            if ('permit' in asked) {
              const end = (well: boolean) => (well ? work.resolve() : work.reject(new Error('no')))
              out.push({ permit: asked.permit, end })
              await turn()
            } else {
              refusals++
              expect(await refused).toBe(true)
            }
          } else {
            const call = out.splice(each.which % Math.max(1, out.length), 1)[0]
            if (!call) continue
            ours = each.well
              ? succeed(rules, ours, call.permit, now)
              : fail(rules, ours, call.permit, now, roll)
            call.end(each.well)
            await turn()
          }
          if (ours.is !== before) {
            // calls of another time are left hanging
            out = ours.is === 'half-open' ? out.slice(-1) : []
            if (ours.is === 'open') opened++
            if (ours.is === 'closed') closedAgain++
          }
          expect(theirs.state).toBe(STATES[ours.is as keyof typeof STATES])
        }
      },
    ),
  )
  // or nothing would have been compared
  for (const times of [opened, closedAgain, refusals]) expect(times).toBeGreaterThan(50)
})
