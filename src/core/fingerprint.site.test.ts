import { describe, expect, it } from 'vitest'
import type { Failure } from './failure.ts'
import { fingerprint, normalise } from './fingerprint.ts'

const where = { service: 'mail', topic: 'orders', type: 'order.placed' }
const print = (more: Partial<Failure>) =>
  fingerprint(
    { category: 'unknown', kind: 'handler', name: 'TypeError', message: 'no', because: 'so', ...more },
    where,
  )

describe('a fingerprint, as any program can work it out', () => {
  // SHA-256, cut to 16 digits, of ["mail","orders","order.placed","TypeError",null,null,"no",<function>] as JSON
  const NOWHERE = 'f1-1f0764035405d011'
  const IN_PLACE = 'f1-8046cabf33576e6b'

  it.each([
    ['no stack', undefined, NOWHERE],
    ['no frames', 'TypeError: no', NOWHERE],
    ['a function without a name', 'TypeError: no\n    at /app/a.ts:1:1', NOWHERE],
    [
      'none of our own',
      'TypeError: no\n    at run (/app/node_modules/x/a.js:1:1)\n    at node:timers:1:1',
      NOWHERE,
    ],
    ['a function', 'TypeError: no\n    at place (/app/a.ts:1:1)\n    at other (/app/a.ts:2:1)', IN_PLACE],
    ['a method', 'TypeError: no\n    at async Shop.place (/app/a.ts:1:1)', IN_PLACE],
    ['ours below theirs', 'TypeError: no\n    at x (node:fs:1:1)\n    at place (/app/a.ts:1:1)', IN_PLACE],
  ])('%s', (_, stack, expected) => {
    expect(print(stack === undefined ? {} : { stack })).toBe(expected)
  })

  it('of a dependency is the same wherever it surfaces', () => {
    const more = { kind: 'integration', code: 'E7', status: 503 } as const
    expect(print(more)).toBe('f1-b9ad8085f94862d3')
    expect(print({ ...more, stack: 'TypeError: no\n    at place (/app/a.ts:1:1)' })).toBe(
      'f1-b9ad8085f94862d3',
    )
  })
})

it('of a long message its beginning counts', () => {
  expect(normalise('word '.repeat(1000))).toBe('word '.repeat(100))
  expect(normalise(`${'7 '.repeat(1000)}tail`)).toBe('<id>')
  expect(normalise(`${'7 '.repeat(990)}tail`)).toBe('<id> tail')
  expect(normalise('  a  b\n ')).toBe('a b')
})
