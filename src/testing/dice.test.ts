import { expect, test } from 'vitest'
import { virtualClock } from './clock.ts'
import { loadedDice } from './dice.ts'

const throws = (seed: number, count: number) => {
  const dice = loadedDice(seed)
  return Array.from({ length: count }, () => dice.next())
}

test('the same seed falls the same way, another one does not', () => {
  expect(throws(7, 50)).toEqual(throws(7, 50))
  expect(throws(7, 50)).not.toEqual(throws(8, 50))
})

test('throws are spread over [0, 1), whatever the seed', () => {
  for (const seed of [0, 1, 2, 42, -1, 0x9e3779b9, 2 ** 31]) {
    const thrown = throws(seed, 10_000)
    const tenths = new Array<number>(10).fill(0)
    for (const each of thrown) tenths[Math.floor(each * 10)]!++
    expect(Math.min(...thrown)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...thrown)).toBeLessThan(1)
    expect(Math.min(...tenths), `seed ${seed}`).toBeGreaterThan(850)
    expect(Math.max(...tenths), `seed ${seed}`).toBeLessThan(1150)
  }
})

test('ids are UUIDv7 in form, unique, sorted by time and then by order, and carry the clock', async () => {
  const clock = virtualClock()
  const dice = loadedDice(1, clock.now)
  const ids = Array.from({ length: 5000 }, () => dice.uuid())
  await clock.advance(1000)
  ids.push(dice.uuid())
  expect(new Set(ids).size).toBe(ids.length)
  expect([...ids].sort()).toEqual(ids)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Number.parseInt(ids.at(-1)!.replaceAll('-', '').slice(0, 12), 16)).toBe(clock.now())
})
