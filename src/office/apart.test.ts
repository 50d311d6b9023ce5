import { expect, it } from 'vitest'
import type { Delivery } from '../contracts/transport.ts'
import { freshTrail } from '../core/trail.ts'
import { createApart } from './apart.ts'

const message = (text: string, redelivered: boolean): Delivery => {
  const event = {
    id: 'one',
    source: '/theirs',
    type: 'x',
    extensions: {},
    headers: {},
    data: Buffer.from(text),
  }
  return { parcel: { event, trail: freshTrail, due: 0 }, redelivered }
}

it('a message that comes again takes the place of what it was, and waits twice as long', () => {
  const apart = createApart()
  const again = message('a', true)
  expect(apart.add(message('a', false), 0, true)).toBe(1000)
  expect(apart.add(again, 0, true)).toBe(2000)
  expect(apart.due(10_000, 10)).toEqual([again])
})

it('two messages with one id and different bytes are both kept apart, though both come again', () => {
  const apart = createApart()
  const [a, b] = [message('a', true), message('b', true)]
  expect([apart.add(a, 0, true), apart.add(b, 0, true)]).toEqual([1000, 1000])
  expect(apart.due(10_000, 10)).toEqual([a, b])
})
