import { expect, it } from 'vitest'
import { isOutdated, THIS_VERSION } from './group.ts'

it.each([
  ['f0-0123456789abcdef', true],
  ['unread', true],
  ['', true],
  ['f-1', true],
  ['xf2-1', true],
  [`${THIS_VERSION}0123456789abcdef`, false],
  ['f2-1', false],
  ['f10-1', false],
])('a fingerprint %s is of an earlier version, or of none: %s', (print, outdated) => {
  expect(isOutdated(print)).toBe(outdated)
})
