import { expect, it } from 'vitest'
import type { Delivery } from '../contracts/transport.ts'
import { freshTrail } from '../core/trail.ts'
import { createApart } from './apart.ts'

const message = (text: string, redelivered: boolean, place?: string): Delivery => {
  const event = {
    id: 'one',
    source: '/theirs',
    type: 'x',
    extensions: {},
    headers: {},
    data: Buffer.from(text),
  }
  return {
    parcel: { event, trail: freshTrail, due: 0 },
    redelivered,
    ...(place !== undefined && { found: { id: place } }),
  }
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

it('two that are alike and lay at different places are two: whose offset waits for it would wait for ever', () => {
  const apart = createApart()
  const [a, b] = [message('a', true, 'kafka:dead/0/7'), message('a', true, 'kafka:dead/0/8')]
  apart.add(a, 0, true)
  apart.add(b, 0, true)
  expect(apart.due(10_000, 10)).toEqual([a, b])
  apart.add(a, 0, true)
  const again = message('a', true, 'kafka:dead/0/7')
  apart.add(again, 0, true)
  expect(apart.due(10_000, 10)).toEqual([again])
})

it('two that are alike in all they say, and can not be one, are both kept apart', () => {
  const apart = createApart()
  const [a, b] = [message('a', true, 'rabbitmq:alike'), message('a', true, 'rabbitmq:alike')]
  apart.add(a, 0, true)
  const twin = { ...b, found: { ...b.found!, another: true } }
  apart.add(twin, 0, true)
  expect(apart.due(10_000, 10)).toEqual([a, twin])
})
