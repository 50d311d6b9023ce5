import { expect, it } from 'vitest'
import { span } from './time.ts'

it.for([
  [0, '0 ms'],
  [999.6, '1000 ms'],
  [1000, '1 s'],
  [1549, '1.5 s'],
  [9999, '10 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [7_200_000, '2 h'],
  [3 * 86_400_000, '3 d'],
  [-5, '0 ms'],
] as const)('%d is %s', ([ms, text]) => {
  expect(span(ms)).toBe(text)
})
