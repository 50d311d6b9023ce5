import { expect, it } from 'vitest'
import { span } from './time.ts'

it.each([
  [86_400_000, '1 day'],
  [2.54 * 86_400_000, '2.5 days'],
  [5_400_000, '1.5 hours'],
  [1_800_000, '30 minutes'],
  [1000, '1 second'],
  [1234, '1.234 seconds'],
  [500, '0.5 seconds'],
  [0, '0 seconds'],
])('%d ms are %s', (ms, told) => {
  expect(span(ms)).toBe(told)
})
