import { expect, it } from 'vitest'
import { systemClock } from '../system/clock.ts'
import type { Withheld } from './topics.ts'
import { withholding } from './withholding.ts'

const clock = { ...systemClock, sleep: async () => {} }
const orders: Withheld = new Map([['orders', new Error('not allowed')]])
const nothing: Withheld = new Map()

const seen = (...answers: Withheld[]) => {
  const told: string[] = []
  const looks: boolean[] = []
  const look = async (anew: boolean) => {
    looks.push(anew)
    return answers.shift()!
  }
  return { told, looks, without: withholding({ clock, look, tell: (topic) => told.push(topic) }) }
}

it('takes no topic for withheld that a broker did not know only at first', async () => {
  const { without, told } = seen(orders, nothing)
  await without.ensure(true)
  expect([without.has('orders'), without.any, told]).toEqual([false, false, []])
})

it('tells once of a topic that is withheld, looks once from then on, and tells again when it was there between', async () => {
  const { without, told, looks } = seen(orders, orders, orders, nothing, orders, orders)
  await without.ensure(true)
  expect(without.has('orders')).toBe(true)
  await without.ensure(true)
  expect([told, looks]).toEqual([['orders'], [true, false, true]])
  await without.ensure(true)
  expect(without.any).toBe(false)
  await without.ensure(true)
  expect(told).toEqual(['orders', 'orders'])
})
