import { describe, expect, it } from 'vitest'
import type { Json } from './json.ts'
import { forceEntry, guardEntry, ORDER_LASTS, pauseEntry, readForce, readGuard, readOrder } from './orders.ts'

const without = (whole: object, name: string) =>
  Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name)) as Json
const nothing: Json[] = [null, 7, 'text', true, [], {}]

it('entries of the board, by name', () => {
  expect(pauseEntry('mail')).toBe('order/pause/mail')
  expect(forceEntry('smtp')).toBe('order/breaker/smtp')
  expect(guardEntry('smtp', 'p-1')).toBe('guard/p-1/smtp')
  expect(ORDER_LASTS).toBe(86_400_000)
})

describe('what is read of an entry', () => {
  const force = { to: 'open', by: 'ann', at: 5 }
  const guard = {
    name: 'smtp',
    process: 'p-1',
    state: 'open',
    since: 5,
    quorum: 2,
    calls: 4,
    successes: 1,
    failures: 3,
    rejections: 2,
    transitions: 1,
  }

  it('is the order, and no more', () => {
    expect(readForce({ ...force, more: 1 })).toStrictEqual(force)
    expect(readForce({ ...force, to: 'closed' })).toStrictEqual({ ...force, to: 'closed' })
    expect(readOrder({ ...force })).toStrictEqual({ by: 'ann', at: 5 })
    expect(readGuard({ ...guard, more: 1 })).toStrictEqual(guard)
  })

  it('is nothing where a part is missing or of another type', () => {
    for (const entry of nothing) {
      expect([readForce(entry), readOrder(entry), readGuard(entry)]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
    }
    expect(readForce({ ...force, to: 'ajar' })).toBeUndefined()
    for (const name of Object.keys(force)) expect(readForce(without(force, name)), name).toBeUndefined()
    for (const name of ['by', 'at']) expect(readOrder(without(force, name)), name).toBeUndefined()
    for (const name of Object.keys(guard)) expect(readGuard(without(guard, name)), name).toBeUndefined()
    expect(readOrder({ by: 7, at: 5 })).toBeUndefined()
    expect(readOrder({ by: 'ann', at: '5' })).toBeUndefined()
  })
})
