import { expect, it } from 'vitest'
import { readWaiting, waitingInAll } from './waiting.ts'

it('is what the process says that sees most of a place, and all places together', () => {
  const told = [
    { mail: { tasks: { waiting: 5, oldest: 900 }, notes: { waiting: 1 } }, pay: { bills: { waiting: 0 } } },
    {
      mail: { tasks: { waiting: 3, oldest: 700 }, 'notes, in the companion': { waiting: 2, oldest: 800 } },
    },
  ]
  expect([...waitingInAll(told)]).toEqual([
    ['mail', { waiting: 8, oldest: 700 }],
    ['pay', { waiting: 0 }],
  ])
})

it('is nothing where an entry is of no right shape', () => {
  for (const odd of [undefined, null, 7, 'x', [1], { mail: 3 }, { mail: { a: -1, b: 0.5, c: '9' } }])
    expect([...waitingInAll([readWaiting(odd)])].filter(([, { waiting }]) => waiting > 0)).toEqual([])
  expect(readWaiting({ mail: { a: 4, b: null } })).toEqual({ mail: { a: { waiting: 4 } } })
  const odd = { a: { waiting: 4, oldest: 'x' }, b: { waiting: '4' }, c: { waiting: 1, oldest: 9 } }
  expect(readWaiting({ mail: odd })).toEqual({ mail: { a: { waiting: 4 }, c: { waiting: 1, oldest: 9 } } })
})
