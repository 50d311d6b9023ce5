import { describe, expect, it } from 'vitest'
import { Permanent } from '../core/errors.ts'
import { virtualClock } from './clock.ts'
import { loadedDice } from './dice.ts'
import { failing, flaky, hanging, slow } from './operations.ts'

describe('operations that go wrong on purpose', () => {
  it('fail so many times, then do what they should, and count their calls', async () => {
    const broken = new Permanent('no')
    const double = failing(2, broken, (n: number) => n * 2)
    await expect(double(1)).rejects.toBe(broken)
    await expect(double(1)).rejects.toBe(broken)
    expect(await double(21)).toBe(42)
    expect(double.calls).toBe(3)
  })

  it('fail with a transient error unless told otherwise, and then answer with nothing', async () => {
    const operation = failing(1)
    await expect(operation('anything', 1)).rejects.toMatchObject({ name: 'Transient' })
    expect(await operation()).toBeUndefined()
  })

  it('fail by dice, the same way for the same seed', async () => {
    const pattern = async (seed: number) => {
      const operation = flaky(0.3, loadedDice(seed))
      const fell = []
      for (let i = 0; i < 1000; i++) {
        fell.push(
          await operation().then(
            () => 0,
            () => 1,
          ),
        )
      }
      return fell
    }
    const first = await pattern(7)
    expect(await pattern(7)).toEqual(first)
    expect(await pattern(8)).not.toEqual(first)
    const share = first.reduce<number>((sum, each) => sum + each, 0) / 1000
    expect(share).toBeGreaterThan(0.25)
    expect(share).toBeLessThan(0.35)
  })

  it('take their time by the clock', async () => {
    const clock = virtualClock()
    const began = clock.now()
    const operation = slow(5000, clock, () => clock.now() - began)
    expect(await clock.runUntil(operation())).toBe(5000)
  })

  it.each([
    ['a signal', (signal: AbortSignal) => signal],
    ['a context with a signal', (signal: AbortSignal) => ({ attempt: 1, signal })],
  ])('end their wait with the reason of %s', async (_, argument) => {
    const clock = virtualClock()
    const stop = new AbortController()
    const operation = slow(5000, clock)
    const running = operation('first', argument(stop.signal))
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    expect(clock.sleepers).toBe(0)
  })

  it('hang, whatever their signal says', async () => {
    const clock = virtualClock()
    const operation = hanging()
    let settled = false
    const end = () => {
      settled = true
    }
    operation(AbortSignal.abort()).then(end, end)
    await clock.advance(1_000_000)
    expect(settled).toBe(false)
    expect(operation.calls).toBe(1)
  })
})
