import { expect, it } from 'vitest'
import { POLICIES } from './policy.ts'
import { freshTrail } from './trail.ts'
import { decide } from './verdict.ts'

it('what the handler put off is held, even beyond its window and its life', () => {
  const policy = { ...POLICIES.standard, window: 1000 }
  const trail = { ...freshTrail, spent: 1, firstFailureAt: 0 }
  const outcome = { is: 'put off', delay: 5000, because: 'the shop is closed' } as const
  expect(decide({ policy, expires: 1500 }, trail, outcome, 900, () => 0)).toStrictEqual({
    do: 'hold',
    due: 5900,
    because: 'the shop is closed',
  })
})
