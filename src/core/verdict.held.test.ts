import { describe, expect, it } from 'vitest'
import type { Failure } from './failure.ts'
import { POLICIES } from './policy.ts'
import { freshTrail, type Trail } from './trail.ts'
import { decide } from './verdict.ts'

const failure: Failure = {
  category: 'transient',
  kind: 'integration',
  name: 'CallRefused',
  message: 'the breaker of crm is open',
  because: 'test',
}
const NOW = 1_000_000
const heldUp = (delay: number, trail: Trail = freshTrail, expires?: number, roll = 0) =>
  decide(
    { policy: POLICIES.aggressive, expires },
    trail,
    { is: 'held up', delay, because: failure.message, failure },
    NOW,
    () => roll,
  )
const failedAt = (firstFailureAt: number): Trail => ({ ...freshTrail, spent: 2, firstFailureAt })

describe('what a breaker or budget refuses', () => {
  it('is held, and spends nothing, however long it takes', () => {
    expect(heldUp(86_400_000)).toEqual({ do: 'hold', due: NOW + 86_400_000, because: failure.message })
  })

  it('is held up to the end of the window that its first failure began, and buried beyond', () => {
    expect(heldUp(5000, failedAt(NOW - 10_000)).do).toBe('hold')
    expect(heldUp(5001, failedAt(NOW - 10_000))).toEqual({
      do: 'dead',
      reason: 'window exhausted',
      failure,
      trail: failedAt(NOW - 10_000),
    })
  })

  it('is buried as expired when it could only come back after its life', () => {
    expect(heldUp(4999, freshTrail, NOW + 5000).do).toBe('hold')
    expect(heldUp(5000, freshTrail, NOW + 5000)).toEqual({
      do: 'dead',
      reason: 'expired',
      failure,
      trail: freshTrail,
    })
  })

  it('comes back a little later by chance, so that not all come back together', () => {
    expect(heldUp(30_000, freshTrail, undefined, 0.5)).toMatchObject({ do: 'hold', due: NOW + 31_500 })
    expect(heldUp(1, freshTrail, undefined, 0.5)).toMatchObject({ do: 'hold', due: NOW + 2 })
    expect(heldUp(0, freshTrail, undefined, 0.99)).toMatchObject({ do: 'hold', due: NOW })
  })

  it('is never buried by that chance, which ends where its time does', () => {
    expect(heldUp(5000, failedAt(NOW - 10_000), undefined, 0.99)).toMatchObject({
      do: 'hold',
      due: NOW + 5000,
    })
    expect(heldUp(4900, failedAt(NOW - 10_000), undefined, 0.99)).toMatchObject({
      do: 'hold',
      due: NOW + 5000,
    })
    expect(heldUp(4990, freshTrail, NOW + 5000, 0.99)).toMatchObject({ do: 'hold', due: NOW + 4999 })
    expect(heldUp(4990, failedAt(NOW - 10_000), NOW + 6000, 0.99)).toMatchObject({ due: NOW + 5000 })
    expect(heldUp(4990, failedAt(NOW - 10_000), NOW + 4995, 0.99)).toMatchObject({ due: NOW + 4994 })
  })

  it('has no window where the policy has none', () => {
    const verdict = decide(
      { policy: POLICIES.none },
      failedAt(0),
      { is: 'held up', delay: 1, because: 'x', failure },
      NOW,
      () => 0,
    )
    expect(verdict).toEqual({ do: 'hold', due: NOW + 1, because: 'x' })
  })
})
