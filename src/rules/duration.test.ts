import fc from 'fast-check'
import { expect, it } from 'vitest'
import { LONGEST, readDuration, showDuration } from './duration.ts'

it.each([
  ['500ms', 500],
  ['1.5s', 1500],
  ['0s', 0],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
  ['3650d', LONGEST],
])('%s is %d ms', (text, ms) => {
  expect(readDuration(text)).toBe(ms)
})

it.each(['', '5', 's', '-1s', '5 s', '1h30m', '5S', '1e3s', '3651d', '99999999999d', ' 5s', '5s\n', '5w'])(
  "'%s' is no duration",
  (text) => {
    expect(readDuration(text)).toBeUndefined()
  },
)

it('reads back what it shows', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: LONGEST }), (ms) => {
      expect(readDuration(showDuration(ms))).toBe(ms)
    }),
  )
})

it('shows round figures in the unit people use', () => {
  expect([500, 1500, 15_000, 300_000, 172_800_000].map(showDuration)).toEqual([
    '500ms',
    '1.5s',
    '15s',
    '5m',
    '2d',
  ])
})
