import { describe, expect, it } from 'vitest'
import { classify, type Override } from './classify.ts'
import { BusinessRule, NotAllowed, Permanent, Timeout, Transient } from './errors.ts'

class Mine extends Transient {
  readonly status = 503
}

/** Suits nothing, and is looked for among all that can be seen on an error. */
const NEVER: Override = { match: { code: 'NEVER' }, category: 'unknown', reason: 'never' }
const changed = (error: Error, how: object): Error => Object.assign(error, how)

describe('a typed error that tells all by its class and message', () => {
  it.each([
    ['Transient', () => new Transient('no')],
    ['Timeout', () => new Timeout('no')],
    ['Permanent', () => new Permanent('no')],
    ['BusinessRule', () => new BusinessRule('no')],
    ['NotAllowed', () => new NotAllowed('no')],
    ['one with a password', () => new Transient('amqp://ann:secret@host')],
    ['one with half a character', () => new Transient('a \ud800 b')],
    ['one with a long message', () => new Transient('x'.repeat(5000))],
    ['one without a message', () => new Transient('')],
    ['one with a code', () => new Transient('no', { code: 'E1' })],
    ['one with a kind', () => new Permanent('no', { kind: 'auth' })],
    ['one with a cause', () => new Transient('no', { cause: new Error('why') })],
    ['one with another name', () => changed(new Transient('no'), { name: 'Other' })],
    [
      'one with more on it',
      () => changed(new Transient('no'), { status: 429, headers: { 'retry-after': '3' } }),
    ],
    ['one of a class of its own', () => new Mine('no')],
    ['what only inherits from one', () => Object.create(new Transient('no'))],
    [
      'one whose message throws',
      () =>
        Object.defineProperty(new Transient('no'), 'message', {
          get: () => {
            throw new Error('not yours')
          },
        }),
    ],
  ])('%s is the same failure as by looking at all of it', (_, make) => {
    const error = make()
    expect({ ...classify(error) }).toEqual({ ...classify(error, [NEVER]) })
  })

  it('has a stack that is written out only for those who look', () => {
    const error = new Transient('no')
    let looks = 0
    Object.defineProperty(error, 'stack', { get: () => `Transient: look ${++looks}` })
    const failure = classify(error)
    expect(looks).toBe(0)
    expect([failure.stack, failure.stack, { ...failure }.stack]).toEqual(
      new Array(3).fill('Transient: look 1'),
    )
  })
})
