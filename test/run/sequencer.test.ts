import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { longestFirst } from './sequencer.ts'

it('the files of a run begin with those that take longest; the others stay as they are', () => {
  const simulator = 'src/testing/simulator/simulate.test.ts'
  const files = [
    'src/core/b.test.ts',
    'test/trials/kafka.test.ts',
    'src/core/a.test.ts',
    'test/chaos/tx.test.ts',
  ]
  expect(longestFirst([...files, simulator], (path) => path)).toEqual([
    simulator,
    'test/chaos/tx.test.ts',
    'test/trials/kafka.test.ts',
    'src/core/b.test.ts',
    'src/core/a.test.ts',
  ])
  expect(existsSync(simulator), 'it has another name now').toBe(true)
})
