import fc from 'fast-check'
import { expect, test } from 'vitest'
import { idempotencyKeyOf, ledgerIdOf } from './idempotency-key.ts'

const named = (id: string, correlationid?: string, headers: Record<string, string> = {}) => ({
  id,
  extensions: correlationid === undefined ? {} : { correlationid },
  headers,
})

test('the ledger knows an event by its id, or by its id and its correlation id', () => {
  expect(ledgerIdOf('id', named('a+%', 'c'))).toBe('a+%')
  expect(ledgerIdOf('id+correlation', named('a', 'c'))).toBe('a+c')
  expect(ledgerIdOf('id+correlation', named('a'))).toBe('a')
})

test('no two pairs of id and correlation id are the same to it', () => {
  const word = fc.string({ unit: fc.constantFrom('a', '+', '%', '2', 'B', '5'), minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(word, fc.option(word), word, fc.option(word), (id, by, other, its) => {
      const one = ledgerIdOf('id+correlation', named(id, by ?? undefined))
      const two = ledgerIdOf('id+correlation', named(other, its ?? undefined))
      expect(one === two).toBe(id === other && by === its)
    }),
  )
})

test('an effect is known by what the ledger knows its event by, unless its producer named it', () => {
  expect(idempotencyKeyOf('id', named('a', 'c'))).toBe('a')
  expect(idempotencyKeyOf('id+correlation', named('a', 'c'))).toBe('a+c')
  expect(idempotencyKeyOf('id+correlation', named('a', 'c', { 'x-idempotency-key': 'order-7' }))).toBe(
    'order-7',
  )
  expect(idempotencyKeyOf('id', named('a', 'c', { 'x-idempotency-key': 'order-7' }))).toBe('order-7')
})

test('a replay, which carries the bare id, has the key of the first life', () => {
  const replayed = named('a', 'c', { 'x-idempotency-key': 'a' })
  expect(idempotencyKeyOf('id+correlation', replayed)).toBe('a+c')
  expect(idempotencyKeyOf('id', replayed)).toBe('a')
})
