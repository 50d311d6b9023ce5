import { expect, it } from 'vitest'
import type { KeptOperation } from '../../contracts/operations.ts'
import { NO_ITEMS, type Operation, paceFrom } from '../../core/operation.ts'
import { operationText, progressText } from './operation-text.ts'

const kept = (over: Partial<Operation>, counts: Partial<KeptOperation['counts']>): KeptOperation => ({
  operation: {
    ...{ id: 'o-1', kind: 'replay', state: 'ramp', since: 0, by: 'ann', at: 0, chosen: {} },
    plan: { batch: 50, although: [] },
    ...over,
  },
  ...{ version: 1, counts: { ...NO_ITEMS, ...counts }, reasons: {} },
})

it('the time left is told by what left since it goes at its pace, not by canaries or before a pause', () => {
  const before = { ...NO_ITEMS, waiting: 1000, resolved: 500, skipped: 7 }
  const pace = paceFrom(before, 3_600_000)
  expect(pace).toEqual({ at: 3_600_000, left: 500 })
  // a hundred in ten seconds, and nine hundred to go
  const now = 3_610_000
  const counts = { waiting: 900, resolved: 500, sent: 100, skipped: 7 }
  expect(progressText(kept({ pace }, counts), now)).toMatch(/^ramp: 600 of 1500, .*, about 90 s left$/)
  const paused = { by: 'bob', at: now }
  expect(progressText(kept({ pace, paused }, counts), now)).not.toContain('left')
})

it('letters that were not open when they were frozen are told by their states', () => {
  const text = (found: Operation['found']) => operationText(kept(found ? { found } : {}, { waiting: 3 }))
  expect(text({ open: 2, resolved: 1 })).toContain('2 open, 1 resolved')
  expect(text({ open: 3 })).not.toContain('in states')
})
