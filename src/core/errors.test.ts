import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import {
  BusinessRule,
  FAILURE,
  Invalid,
  NotAllowed,
  Permanent,
  RateLimited,
  Throttled,
  Timeout,
  Transient,
} from './errors.ts'

describe('typed errors', () => {
  it.each([
    [new Transient('no'), 'transient', 'integration'],
    [new Timeout('no'), 'transient', 'timeout'],
    [new RateLimited('no'), 'rate-limited', 'integration'],
    [new Throttled('no'), 'rate-limited', 'integration'],
    [new Permanent('no'), 'permanent', 'handler'],
    [new Invalid('no'), 'permanent', 'schema'],
    [new BusinessRule('no'), 'permanent', 'business'],
    [new NotAllowed('no'), 'permanent', 'auth'],
  ] as const)('%s', (error, category, kind) => {
    expect(error).toBeInstanceOf(Error)
    expect(classify(error)).toMatchObject({
      category,
      kind,
      name: error.name,
      message: 'no',
      because: `it was thrown as ${error.name}`,
    })
  })

  it.each([
    ['service unavailable', new Transient('billing is down'), true, undefined],
    ['network timeout', new Timeout('no answer in 5 s'), true, undefined],
    ['rate limit', new RateLimited('slow down', { retryAfter: 2500 }), true, 2500],
    ['rate limit that says no time', new RateLimited('slow down'), true, undefined],
    ['provider throttling', new Throttled('too many calls'), true, 60_000],
    ['transient database', new Transient('deadlock', { code: '40P01' }), true, undefined],
    ['invalid message', new Invalid('no order id'), false, undefined],
    ['authentication', new NotAllowed('token expired', { code: 'authentication' }), false, undefined],
    ['authorisation', new NotAllowed('not your order', { code: 'authorisation' }), false, undefined],
    ['validation', new Invalid('order', { issues: [{ message: 'no', path: ['id'] }] }), false, undefined],
    ['permanent service error', new Permanent('account closed', { kind: 'integration' }), false, undefined],
  ] as const)('say %s', (_, error, retryable, retryAfter) => {
    const failure = classify(error)
    expect(failure.category !== 'permanent' && failure.category !== 'unknown').toBe(retryable)
    expect(failure.retryAfter).toBe(retryAfter)
  })

  it('keep code, cause and a kind of their own', () => {
    const cause = new Error('below')
    const error = new Permanent('gone', { cause, code: 'invoice_closed', kind: 'integration' })
    expect(error.cause).toBe(cause)
    expect(classify(error)).toMatchObject({
      category: 'permanent',
      kind: 'integration',
      code: 'invoice_closed',
      message: 'gone (cause: below)',
    })
  })

  it('say how long to wait', () => {
    expect(classify(new RateLimited('slow', { retryAfter: 1500 })).retryAfter).toBe(1500)
    expect(classify(new RateLimited('slow'))).not.toHaveProperty('retryAfter')
    expect(classify(new Throttled('slow')).retryAfter).toBe(60_000)
    expect(classify(new Throttled('slow', { retryAfter: 5 })).retryAfter).toBe(5)
    expect(classify(new RateLimited('slow', { retryAfter: Number.NaN }))).not.toHaveProperty('retryAfter')
  })

  it('take Retry-After from the answer they wrap', () => {
    const cause = Object.assign(new Error('Too Many Requests'), {
      status: 429,
      headers: { 'retry-after': '7' },
    })
    expect(classify(new RateLimited('slow', { cause }))).toMatchObject({ retryAfter: 7000, status: 429 })
    expect(classify(new Permanent('enough', { cause }))).not.toHaveProperty('retryAfter')
  })

  it('count also as the cause of another error, before what that one says', () => {
    const wrapped = new Error('while saving', { cause: new Permanent('never') })
    expect(classify(wrapped)).toMatchObject({ category: 'permanent', name: 'Error' })
    expect(classify(Object.assign(wrapped, { status: 503 }))).toMatchObject({ category: 'permanent' })
  })

  it('are known from another copy of the package, and its unknown words do no harm', () => {
    const foreign = (told: unknown) =>
      Object.assign(new Error('x'), { [Symbol.for('reprieve.failure')]: told })
    expect(classify(foreign({ category: 'permanent', kind: 'business' }))).toMatchObject({
      category: 'permanent',
      kind: 'business',
    })
    expect(classify(foreign({ category: 'transient', kind: 'lunar' }))).toMatchObject({
      category: 'transient',
      kind: 'handler',
    })
    expect(classify(foreign({ category: 'cursed', kind: 'business' }))).toMatchObject({
      category: 'unknown',
      kind: 'handler',
    })
    expect(classify(foreign({ category: 'transient', kind: 'toString' })).kind).toBe('handler')
  })

  it('work as parents', () => {
    class NoStock extends BusinessRule {
      override name = 'NoStock'
    }
    expect(classify(new NoStock('sold out'))).toMatchObject({ kind: 'business', name: 'NoStock' })
  })

  it('tell the issues of a schema path by path', () => {
    const issues = [
      { message: 'expected string', path: ['owner', { key: 'mail' }] },
      { message: 'too large', path: ['items', 3] },
      { message: 'unrecognised' },
    ]
    const error = new Invalid('todo.task.created', { issues })
    expect(error.message).toBe(
      'todo.task.created: owner.mail: expected string; items.3: too large; unrecognised',
    )
    expect(error.issues).toBe(issues)
    const many = Array.from({ length: 7 }, () => ({ message: 'no' }))
    expect(new Invalid('x', { issues: many }).message).toBe('x: no; no; no; no; no; and 2 more')
  })

  it('print without their brand', () => {
    expect(inspect(new Transient('x'))).not.toContain('reprieve.failure')
    expect(new Transient('x')[FAILURE].category).toBe('transient')
  })
})
