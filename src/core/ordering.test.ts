import { expect, it } from 'vitest'
import { isInOrder } from './ordering.ts'

it('every type is in order where nothing else is said', () => {
  expect(isInOrder(undefined, 'stock.moved')).toBe(true)
})

it('the most exact name decides, and what none fits is not in order', () => {
  const ordering = { types: ['stock.*', 'stock.noted.twice'], others: ['stock.noted.*', 'stock.seen'] }
  expect(isInOrder(ordering, 'stock.moved')).toBe(true)
  expect(isInOrder(ordering, 'stock.seen')).toBe(false)
  expect(isInOrder(ordering, 'stock.noted.once')).toBe(false)
  expect(isInOrder(ordering, 'stock.noted.twice')).toBe(true)
  expect(isInOrder(ordering, 'mail.sent')).toBe(false)
})
