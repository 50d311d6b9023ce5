import { expect, it } from 'vitest'
import { readWaiting, waitingInAll } from './waiting.ts'

it('is what the process says that sees most of a place, and all places together', () => {
  const told = [
    { mail: { tasks: 5, notes: 1 }, pay: { bills: 0 } },
    { mail: { tasks: 3, 'notes, in the companion': 2 } },
  ]
  expect([...waitingInAll(told)]).toEqual([
    ['mail', 8],
    ['pay', 0],
  ])
})

it('is nothing where an entry is of no right shape', () => {
  for (const odd of [undefined, null, 7, 'x', [1], { mail: 3 }, { mail: { a: -1, b: 0.5, c: '9' } }])
    expect([...waitingInAll([readWaiting(odd)])].filter(([, count]) => count > 0)).toEqual([])
  expect(readWaiting({ mail: { a: 4, b: null } })).toEqual({ mail: { a: 4 } })
})
