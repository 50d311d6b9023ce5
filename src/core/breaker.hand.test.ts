import { describe, expect, it } from 'vitest'
import { stage } from '../../test/retry/breaker.ts'
import { closedBreaker } from './breaker.ts'

describe('ramping up', () => {
  const ramping = (rolls: readonly number[]) => {
    const set = stage({ ramp: 10_000 }, rolls)
    set.fail(3)
    set.at.now += 30_000
    set.call('success')
    return set
  }

  it('lets a growing share through, a tenth at least, and tells the others when their time comes', () => {
    const { at, permit, refusal } = ramping([0.09, 0.1, 0.49, 0.5, 0.5001])
    const since = at.now
    permit()
    expect(refusal()).toEqual({ because: 'ramping up', retryAt: since + 1000 })
    at.now += 5000
    permit()
    expect(refusal()).toEqual({ because: 'ramping up', retryAt: since + 5000 })
    expect(refusal().retryAt).toBe(since + 5001)
    at.now += 5000
    permit()
    expect(at.state).toEqual({ is: 'closed', serial: 2, failures: 0 })
  })

  it('over no time is none', () => {
    const { at, fail, call } = stage({ ramp: 0 })
    fail(3)
    at.now += 30_000
    call('success')
    expect(at.state).toEqual({ is: 'closed', serial: 2, failures: 0 })
  })

  it('counts failures as ever', () => {
    const { at, fail } = ramping([0, 0, 0])
    fail(3)
    expect(at.state.is).toBe('open')
  })

  it('begins anew when the clock was put back', () => {
    const { at, permit, refusal } = ramping([0.9, 0.89])
    at.now -= 3_600_000
    expect(refusal().retryAt).toBe(at.now + 9000)
    at.now += 9000
    permit()
  })
})

describe('by hand', () => {
  it('forced open refuses all until released, whatever the time', () => {
    const { at, send, refusal, permit } = stage()
    const before = permit()
    send({ is: 'force', to: 'open' })
    at.now += 86_400_000
    expect(refusal()).toEqual({ because: 'forced open', retryAt: at.now + 30_000 })
    send({ is: 'success', permit: before })
    expect(at.state.is).toBe('forced open')
    send({ is: 'release' })
    expect(at.state).toEqual({ is: 'closed', serial: 2, failures: 0 })
  })

  it('forced closed lets all through and counts no failure', () => {
    const { at, send, fail } = stage()
    fail(3)
    send({ is: 'force', to: 'closed' })
    fail(100)
    expect(at.state.is).toBe('forced closed')
    send({ is: 'release' })
    fail(2)
    expect(at.state).toMatchObject({ is: 'closed', failures: 2 })
  })

  it('released from open by the ramp, from closed without one', () => {
    const { at, send } = stage({ ramp: 10_000 })
    send({ is: 'force', to: 'open' })
    send({ is: 'release' })
    expect(at.state).toMatchObject({ is: 'closed', rampSince: at.now })
    send({ is: 'force', to: 'closed' })
    send({ is: 'release' })
    expect(at.state).not.toHaveProperty('rampSince')
  })

  it('twice is once, and releasing what is not forced does nothing', () => {
    const { at, send } = stage()
    send({ is: 'release' })
    expect(at.state).toBe(closedBreaker)
    send({ is: 'force', to: 'open' })
    const { state } = at
    send({ is: 'force', to: 'open' })
    expect(at.state).toBe(state)
    send({ is: 'force', to: 'closed' })
    expect(at.state.is).toBe('forced closed')
  })

  it('what was called before is not counted after', () => {
    const { at, send, permit } = stage({ failures: 1 })
    const before = permit()
    send({ is: 'force', to: 'closed' })
    send({ is: 'release' })
    send({ is: 'failure', permit: before })
    expect(at.state.is).toBe('closed')
  })
})
