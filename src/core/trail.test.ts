import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { failures } from '../../test/arbitraries.ts'
import type { Failure } from './failure.ts'
import { decodeTrail, encodeTrail, extendTrail, freshTrail, type Trail } from './trail.ts'

const trailOf = (failed: readonly Failure[], from: Trail = freshTrail): Trail =>
  failed.reduce((trail, failure, n) => extendTrail(trail, failure, 1000 + n), from)

describe('for all failures', () => {
  test('the trail travels unchanged and stays under 8 KB', () => {
    fc.assert(
      fc.property(fc.array(failures(), { maxLength: 40 }), (failed) => {
        const trail = trailOf(failed)
        expect(decodeTrail(encodeTrail(trail))).toEqual(trail)
        expect(Buffer.byteLength(encodeTrail(trail))).toBeLessThanOrEqual(8 * 1024)
      }),
    )
  })

  test('it counts every attempt, and keeps the first record and the newest', () => {
    fc.assert(
      fc.property(fc.array(failures(), { minLength: 1, maxLength: 40 }), (failed) => {
        const trail = trailOf(failed)
        expect(trail.spent).toBe(failed.length)
        expect(trail.firstFailureAt).toBe(1000)
        expect(Object.values(trail.counts).reduce((sum, count) => sum + count, 0)).toBe(failed.length)
        expect(trail.records[0]).toMatchObject({ attempt: 1, at: 1000 })
        expect(trail.records.at(-1)).toMatchObject({ attempt: failed.length, at: 999 + failed.length })
        const attempts = trail.records.map(({ attempt }) => attempt)
        expect(attempts).toEqual([...attempts].sort((a, b) => a - b))
      }),
    )
  })
})

test('short texts are kept whole, long ones end in an ellipsis and split no character', () => {
  const failure: Failure = {
    category: 'unknown',
    kind: 'handler',
    name: 'Error',
    message: '🐎'.repeat(3000),
    because: '',
    code: 'short',
  }
  const [record] = extendTrail(freshTrail, failure, 1).records
  expect(record?.code).toBe('short')
  expect(record?.error.endsWith('…')).toBe(true)
  expect(record?.error.isWellFormed()).toBe(true)
})

test('the last delay travels with it, and stays until there is another', () => {
  const trail = extendTrail({ ...freshTrail, delay: 1500 }, failureOf('x'), 5)
  expect(decodeTrail(encodeTrail(trail))).toEqual(trail)
  expect(trail.delay).toBe(1500)
})

test('the replay of a trail stays with it', () => {
  const replay = { letter: 'l', attempt: 1, receiptTo: 'office' }
  expect(extendTrail({ ...freshTrail, generation: 2, replay }, failureOf('x'), 5)).toMatchObject({
    generation: 2,
    replay,
    spent: 1,
  })
})

test.each([
  undefined,
  '',
  'x',
  '{',
  'null',
  '[]',
  '7',
  '{"spent":1}',
  '{"spent":"1","generation":0,"records":[]}',
])('the foreign header %j counts as a fresh trail', (text) => {
  expect(decodeTrail(text)).toEqual(freshTrail)
})

const failureOf = (message: string): Failure => ({
  category: 'transient',
  kind: 'timeout',
  name: 'Error',
  message,
  because: '',
})
