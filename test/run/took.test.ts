import { expect, it } from 'vitest'
import { tookOf } from './took.ts'

it('the check is told with its time, and with a warning above 30 s', () => {
  expect(tookOf(12_345)).toBe('12.3 s')
  expect(tookOf(30_000)).not.toContain('warning')
  expect(tookOf(30_100)).toBe('30.1 s: warning, more than 30.0 s')
})
