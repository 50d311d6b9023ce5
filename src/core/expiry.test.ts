import { describe, expect, it } from 'vitest'
import type { Event } from './event.ts'
import { expiryOf } from './expiry.ts'

const event = (time?: string, expirytime?: string): Event => ({
  id: '1',
  source: 's',
  type: 't',
  ...(time !== undefined && { time }),
  extensions: expirytime === undefined ? {} : { expirytime },
  headers: {},
  data: null,
})
const NOON = '2026-01-02T12:00:00Z'
const ONE = '2026-01-02T13:00:00Z'
const noon = Date.parse(NOON)

describe('an event expires', () => {
  it('at the time it says itself', () => {
    expect(expiryOf(event(undefined, ONE))).toBe(noon + 3_600_000)
  })
  it('when its life is over', () => {
    expect(expiryOf(event(NOON), 5000)).toBe(noon + 5000)
  })
  it('at the first of the two', () => {
    expect(expiryOf(event(NOON, ONE), 5000)).toBe(noon + 5000)
    expect(expiryOf(event(NOON, ONE), 7_200_000)).toBe(noon + 3_600_000)
  })
  it('never, where it says nothing, or nothing that is a time', () => {
    expect(expiryOf(event(NOON))).toBeUndefined()
    expect(expiryOf(event(undefined), 5000)).toBeUndefined()
    expect(expiryOf(event('long ago', 'soon'), 5000)).toBeUndefined()
  })
  it('by the other one where one of them is no time', () => {
    expect(expiryOf(event(NOON, 'soon'), 5000)).toBe(noon + 5000)
    expect(expiryOf(event('long ago', ONE), 5000)).toBe(noon + 3_600_000)
  })
})
