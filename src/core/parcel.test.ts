import { expect, it } from 'vitest'
import type { Event } from './event.ts'
import { checkDue, copyId, freshParcel } from './parcel.ts'
import { freshTrail } from './trail.ts'

const event: Event = { id: 'e-1', source: 's', type: 't', extensions: {}, headers: {}, data: null }
const parcelAt = (generation: number, spent: number) => ({
  event,
  due: 0,
  trail: { ...freshTrail, generation, spent },
})

it('a fresh parcel has spent nothing', () => {
  expect(freshParcel(event, 7)).toStrictEqual({ event, trail: freshTrail, due: 7 })
  expect(freshTrail).toMatchObject({ generation: 0, spent: 0, records: [] })
})

it('copies of the same attempt in the same life have the same id, all others another', () => {
  expect(copyId(parcelAt(0, 0))).toBe('e-1#0')
  expect(copyId(parcelAt(0, 3))).toBe('e-1#3')
  expect(copyId(parcelAt(1, 0))).toBe('e-1#1.0')
  expect(copyId(parcelAt(2, 3))).toBe('e-1#2.3')
})

it('a parcel may be due at any time, but not at none', () => {
  for (const due of [0, -1, Number.POSITIVE_INFINITY])
    expect(() => checkDue(freshParcel(event, due))).not.toThrow()
  const wrong = expect.objectContaining({ code: 'bad_event', message: expect.stringContaining('e-1') })
  expect(() => checkDue(freshParcel(event, Number.NaN))).toThrow(wrong)
})
