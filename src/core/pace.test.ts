import { expect, it } from 'vitest'
import { NO_PACE, paceSince, readPaces, together } from './pace.ts'

it('what is not of the right shape is nobody’s pace', () => {
  expect(readPaces(undefined)).toEqual({})
  expect(readPaces([1])).toEqual({})
  expect(readPaces({ a: { attempts: 1 }, b: { ...NO_PACE, retries: 'x' }, c: { ...NO_PACE } })).toEqual({
    c: NO_PACE,
  })
})

it('counts what is new, and all of it where a process counts from the beginning', () => {
  const before = { ...NO_PACE, attempts: 10, retries: 2 }
  const now = { ...NO_PACE, attempts: 15, retries: 2 }
  expect(paceSince(before, now)).toEqual({ ...NO_PACE, attempts: 5 })
  expect(paceSince(undefined, now)).toEqual(now)
  expect(paceSince(now, before)).toEqual(before)
  expect(together([before, now])).toEqual({ ...NO_PACE, attempts: 25, retries: 4 })
  expect(together([])).toEqual(NO_PACE)
})
