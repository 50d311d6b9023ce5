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
    ['Transient', Transient, 'transient', 'integration'],
    ['Timeout', Timeout, 'transient', 'timeout'],
    ['RateLimited', RateLimited, 'rate-limited', 'integration'],
    ['Throttled', Throttled, 'rate-limited', 'integration'],
    ['Permanent', Permanent, 'permanent', 'handler'],
    ['Invalid', Invalid, 'permanent', 'schema'],
    ['BusinessRule', BusinessRule, 'permanent', 'business'],
    ['NotAllowed', NotAllowed, 'permanent', 'auth'],
  ] as const)('%s', (name, Typed, category, kind) => {
    const error = new Typed('no')
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toHaveProperty('cause')
    expect(error.name).toBe(name)
    expect(error[FAILURE]).toMatchObject({ category, kind })
    expect(classify(error)).toMatchObject({
      category,
      kind,
      name,
      message: 'no',
      because: `it was thrown as ${name}`,
    })
  })

  it.each([
    ['service unavailable', () => new Transient('billing is down'), true, undefined],
    ['network timeout', () => new Timeout('no answer in 5 s'), true, undefined],
    ['rate limit', () => new RateLimited('slow down', { retryAfter: 2500 }), true, 2500],
    ['rate limit that says no time', () => new RateLimited('slow down'), true, undefined],
    ['provider throttling', () => new Throttled('too many calls'), true, 60_000],
    ['transient database', () => new Transient('deadlock', { code: '40P01' }), true, undefined],
    ['invalid message', () => new Invalid('no order id'), false, undefined],
    ['authentication', () => new NotAllowed('token expired', { code: 'authentication' }), false, undefined],
    ['authorisation', () => new NotAllowed('not your order', { code: 'authorisation' }), false, undefined],
    [
      'validation',
      () => new Invalid('order', { issues: [{ message: 'no', path: ['id'] }] }),
      false,
      undefined,
    ],
    [
      'permanent service error',
      () => new Permanent('account closed', { kind: 'integration' }),
      false,
      undefined,
    ],
  ] as const)('say %s', (_, make, retryable, retryAfter) => {
    const failure = classify(make())
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
    expect(new Invalid('x', { issues: many.slice(2) }).message).toBe('x: no; no; no; no; no')
    expect(new Invalid('x', { issues: [] }).message).toBe('x')
    expect(new Invalid('x').issues).toEqual([])
  })

  it('print without their brand', () => {
    expect(inspect(new Transient('x'))).not.toContain('reprieve.failure')
    expect(new Transient('x')[FAILURE].category).toBe('transient')
  })
})
