import { describe, expect, it } from 'vitest'
import { stage } from '../../test/retry/breaker.ts'
import { type BreakerRules, closedBreaker } from './breaker.ts'

describe('a breaker that counts failures in a row', () => {
  it('opens on the Nth, not on the one after it', () => {
    const { at, fail, refusal } = stage()
    fail(2)
    expect(at.state).toEqual({ is: 'closed', serial: 0, failures: 2 })
    fail(1)
    expect(at.state).toEqual({ is: 'open', serial: 0, since: 1_000_000, until: 1_030_000 })
    expect(refusal()).toEqual({ because: 'open', retryAt: 1_030_000 })
  })

  it.each([
    ['kafka', 5, 60, 1],
    ['redis', 3, 30, 1],
    ['postgres', 3, 30, 1],
    ['smtp', 5, 120, 1],
    ['sms', 3, 120, 1],
    ['webhook', 5, 60, 2],
    ['service', 3, 15, 1],
  ])('for %s: %i failures, %i s, probes %i', (name, failures, seconds, probes) => {
    const { at, fail, permit, refusal } = stage({ name, failures, open: seconds * 1000, probes })
    fail(failures - 1)
    expect(at.state.is).toBe('closed')
    fail(1)
    at.now += seconds * 1000 - 1
    expect(refusal().because).toBe('open')
    at.now += 1
    for (let i = 0; i < probes; i++) permit()
    expect(at.state.is).toBe('half-open')
    expect(refusal().because).toBe('probing')
  })

  it('forgets failures at a success', () => {
    const { at, fail, call } = stage()
    fail(2)
    call('success')
    fail(2)
    expect(at.state.is).toBe('closed')
  })

  it('answers with the same state where nothing changes', () => {
    const { at, call, permit, send } = stage()
    const before = at.state
    call('success')
    send({ is: 'ignored', permit: permit() })
    expect(at.state).toBe(before)
  })

  it('forgets what is older than the interval, failure by failure', () => {
    const { at, call } = stage({ interval: 60_000 })
    for (const passing of [0, 50_000, 15_000]) {
      at.now += passing
      call('failure')
    }
    // the first is 65 s old by now, and the second is soon 60
    expect(at.state).toMatchObject({ is: 'closed', failures: 2 })
    at.now += 45_000
    call('failure')
    expect(at.state).toMatchObject({ is: 'closed', failures: 2 })
    at.now += 1
    call('failure')
    expect(at.state.is).toBe('open')
  })

  it('counts nothing that it is not told to be a failure', () => {
    const { at, permit, send } = stage()
    for (let i = 0; i < 10; i++) send({ is: 'ignored', permit: permit() })
    expect(at.state).toEqual(closedBreaker)
  })
})

describe('an open breaker', () => {
  it('is open for a spread of its time, by dice', () => {
    for (const [roll, until] of [
      [0, 27_000],
      [0.5, 30_000],
      [0.75, 31_500],
    ] as const) {
      const { at, fail } = stage({ spread: 0.1 }, [roll])
      fail(3)
      expect(at.state).toMatchObject({ is: 'open', until: 1_000_000 + until })
    }
  })

  it('hears nothing of calls that began before it opened', () => {
    const { at, permit, fail, send } = stage()
    const slow = [permit(), permit(), permit()]
    fail(3)
    const { state } = at
    send({ is: 'success', permit: slow[0]! })
    send({ is: 'failure', permit: slow[1]! })
    expect(at.state).toBe(state)
    at.now += 30_000
    permit()
    send({ is: 'success', permit: slow[2]! })
    expect(at.state).toMatchObject({ is: 'half-open', successes: 0 })
  })

  it('closed again, it hears nothing of them either', () => {
    const { at, permit, fail, call, send } = stage()
    const slow = [permit(), permit()]
    fail(3)
    at.now += 30_000
    call('success')
    fail(2)
    send({ is: 'success', permit: slow[0]! })
    send({ is: 'failure', permit: slow[1]! })
    expect(at.state).toMatchObject({ is: 'closed', failures: 2 })
  })

  it('is not held open by a clock that was put back', () => {
    const { at, fail, refusal, permit } = stage()
    fail(3)
    at.now -= 3_600_000
    expect(refusal().retryAt).toBe(at.now + 30_000)
    at.now += 30_000
    permit()
    expect(at.state.is).toBe('half-open')
  })
})

describe('a half-open breaker', () => {
  const halfOpen = (rules: Partial<BreakerRules> = {}) => {
    const set = stage(rules)
    set.fail(3)
    set.at.now += 30_000
    return set
  }

  it('closes after so many successes, and then counts from nothing', () => {
    const { at, call, permit, send } = halfOpen({ successes: 2 })
    call('success')
    expect(at.state).toMatchObject({ is: 'half-open', successes: 1, probes: [] })
    send({ is: 'success', permit: permit() })
    expect(at.state).toEqual({ is: 'closed', serial: 3, failures: 0 })
  })

  it('opens again at the first failure, for its whole time', () => {
    const { at, call } = halfOpen({ successes: 2 })
    call('success')
    at.now += 5
    call('failure')
    expect(at.state).toMatchObject({ is: 'open', since: at.now, until: at.now + 30_000 })
  })

  it('takes back a lost probe when its lease ends, so that it is not half-open for ever', () => {
    const { at, permit, refusal, send } = halfOpen({ probeLease: 10_000 })
    const lost = permit()
    at.now += 9_999
    expect(refusal()).toEqual({ because: 'probing', retryAt: at.now + 1 })
    at.now += 1
    const next = permit()
    expect(next).not.toBe(lost)
    // the lost one's answer comes too late
    send({ is: 'failure', permit: lost })
    expect(at.state.is).toBe('half-open')
    send({ is: 'success', permit: next })
    expect(at.state.is).toBe('closed')
  })

  it.each(['lost', 'ignored'] as const)('gives the place of one that is %s to the next at once', (is) => {
    const { at, permit, refusal, send } = halfOpen()
    const first = permit()
    refusal()
    send({ is, permit: first })
    expect(at.state).toMatchObject({ is: 'half-open', probes: [], successes: 0 })
    permit()
  })

  it('leases for as long as it is open, and at least a second, where the rules name no lease', () => {
    const { at, permit, refusal } = halfOpen()
    permit()
    expect(refusal().retryAt).toBe(at.now + 30_000)
    const quick = stage({ open: 0 })
    quick.fail(3)
    quick.permit()
    expect(quick.refusal().retryAt).toBe(quick.at.now + 1000)
  })

  it('keeps the places of the others when one has answered, and tells when the first of them is free', () => {
    const { at, permit, refusal, send } = halfOpen({ successes: 3, probes: 2, probeLease: 10_000 })
    const first = permit()
    at.now += 4000
    const second = permit()
    expect(refusal().retryAt).toBe(at.now + 6000)
    send({ is: 'success', permit: first })
    expect(at.state).toMatchObject({ successes: 1, probes: [{ permit: second }] })
    permit()
    expect(refusal().because).toBe('probing')
  })

  it('hears one answer of each probe', () => {
    const { at, permit, send } = halfOpen({ successes: 2, probes: 2 })
    const first = permit()
    permit()
    send({ is: 'success', permit: first })
    send({ is: 'success', permit: first })
    expect(at.state).toMatchObject({ is: 'half-open', successes: 1 })
  })

  it('does not lengthen a lease when the clock was put back', () => {
    const { at, permit, refusal } = halfOpen({ probeLease: 10_000 })
    permit()
    at.now -= 3_600_000
    expect(refusal().retryAt).toBe(at.now + 10_000)
    at.now += 10_000
    permit()
  })
})

it('counts calls, successes, failures, rejections and transitions', () => {
  const { at, call, fail, refusal, permit, send } = stage({ successes: 2, failures: 5 })
  const late = permit()
  call('success')
  fail(5)
  refusal()
  at.now += 30_000
  call('success')
  send({ is: 'failure', permit: late })
  call('success')
  expect(at.counts).toEqual({ calls: 9, successes: 3, failures: 6, rejections: 1, transitions: 3 })
})
