import { expect, it } from 'vitest'
import type { Finding } from '../../contracts/doctor.ts'
import { findingLines } from './findings.ts'

const lacking = (where: string, over: Partial<Finding> = {}): Finding => ({
  check: 'permissions',
  level: 'wrong',
  where,
  what: 'the user lacks it',
  why: 'nothing works',
  fix: 'allow it',
  ...over,
})

it('tells why and fix of findings in a row that have the same once, behind the last', () => {
  const lines = findingLines([
    lacking('a'),
    lacking('b'),
    lacking('c', { fix: 'allow that' }),
    { check: 'permissions', level: 'fine', where: 'd', what: 'the user has it' },
  ])
  expect(lines).toEqual([
    '  wrong permissions  a: the user lacks it',
    '  wrong permissions  b: the user lacks it',
    '        why: nothing works',
    '        fix: allow it',
    '  wrong permissions  c: the user lacks it',
    '        why: nothing works',
    '        fix: allow that',
    '  fine  permissions  d: the user has it',
  ])
})
