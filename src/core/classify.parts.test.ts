import { describe, expect, it } from 'vitest'
import { classify, type Override } from './classify.ts'
import { Permanent, RateLimited, Transient } from './errors.ts'

/** Without a stack, so that the whole failure can be compared. */
const error = (message: string, more: object = {}) =>
  Object.assign(new Error(message), { stack: undefined, ...more })

describe('a failure, whole', () => {
  it('of an error that tells nothing', () => {
    expect(classify(error('no'))).toStrictEqual({
      category: 'unknown',
      kind: 'handler',
      name: 'Error',
      message: 'no',
      stack: undefined,
      because: 'nothing is known of such an error',
    })
  })

  it('with a stack that is written out only for those who look, and once', () => {
    let looks = 0
    const thrown = Object.defineProperty(error('no'), 'stack', { get: () => `Error: look ${++looks}` })
    const failure = classify(thrown)
    expect(looks).toBe(0)
    expect([failure.stack, failure.stack]).toEqual(['Error: look 1', 'Error: look 1'])
  })

  it('of one that tells everything', () => {
    const headers = { 'retry-after': '2' }
    expect(classify(error('no', { status: 503, code: 'X', headers, stack: 'Error: no' }))).toStrictEqual({
      category: 'transient',
      kind: 'integration',
      name: 'Error',
      message: 'no',
      code: 'X',
      status: 503,
      stack: 'Error: no',
      retryAfter: 2000,
      because: 'HTTP 503 is transient',
    })
  })

  it('has code and status of the error that decided, else of the outermost that has some', () => {
    const inner = error('b', { status: 503, code: 'B' })
    expect(classify(error('a', { code: 'A', cause: inner }))).toMatchObject({ code: 'B', status: 503 })
    const silent = error('a', { code: 'A', status: 200, cause: error('b', { code: 'B', status: 201 }) })
    expect(classify(silent)).toMatchObject({ code: 'B', status: 201, category: 'unknown' })
    const bare = error('a', { code: 'A', status: 200, cause: error('b') })
    expect(classify(bare)).toMatchObject({ code: 'A', status: 200 })
    expect(classify(error('a', { cause: error('b', { code: 'B' }) })).code).toBe('B')
  })

  it('has the stack of what was thrown, or of what decided', () => {
    const cause = error('b', { status: 503, stack: 'Error: b' })
    expect(classify(error('a', { stack: 'Error: a', cause })).stack).toBe('Error: a')
    expect(classify(error('a', { cause })).stack).toBe('Error: b')
  })

  it('tells the cause unless the message does already', () => {
    const message = (...messages: string[]) =>
      classify(messages.reduceRight<unknown>((cause, each) => error(each, { cause }), undefined)).message
    expect(message('a')).toBe('a')
    expect(message('a', 'b')).toBe('a (cause: b)')
    expect(message('a, since b', 'b')).toBe('a, since b')
    // of several the last, unless one before it decides
    expect(message('a', 'b', 'c')).toBe('a (cause: c)')
    expect(message('a', 'Unexpected close', 'c')).toBe('a (cause: Unexpected close)')
    expect(message('Unexpected close', 'b', 'c')).toBe('Unexpected close (cause: b)')
    expect(message('x'.repeat(1990), 'y'.repeat(50))).toHaveLength(2000)
  })
})

describe('what decides', () => {
  it('a timeout by name, before the code of the client that threw it', () => {
    const late = error('no', { name: 'TimeoutError', code: 'PLT_KFK_NETWORK' })
    expect(classify(late)).toMatchObject({ kind: 'timeout', because: 'TimeoutError is transient' })
  })

  it('our own errors by their code alone', () => {
    const ours = (code: string, more: object = {}) =>
      classify(error('no', { name: 'ReprieveError', code, ...more }))
    expect(ours('closed').because).toBe("'closed' is transient")
    expect(ours('bad_url', { status: 503 }).because).toBe('nothing is known of such an error')
  })

  it('a reply, a status, a schema, a name, a code, a sentence, in this order', () => {
    const all = {
      responseCode: 450,
      command: 'DATA',
      status: 404,
      issues: [{ message: 'x' }],
      name: 'SyntaxError',
      code: 'EPIPE',
    }
    const { responseCode, command, ...two } = all
    const { status, ...three } = two
    const { issues, ...four } = three
    const because = (more: object) => classify(error('Unexpected close', more)).because
    expect(because(all)).toBe('SMTP 450 is transient')
    expect(because(two)).toBe('HTTP 404 is permanent')
    expect(because(three)).toBe('what a schema rejects is permanent')
    expect(because(four)).toBe('SyntaxError is permanent')
    expect(because({ code: four.code })).toBe('EPIPE is transient')
    expect(because({})).toBe("'Unexpected close' is transient")
    expect([responseCode, command, status, issues]).toBeDefined()
  })

  it('the first of its codes that says something', () => {
    expect(classify(error('no', { originalCode: 'X', code: 'EPIPE' })).because).toBe('EPIPE is transient')
    const both = error('no', { originalCode: 'ETIMEDOUT', code: 'EPIPE' })
    expect(classify(both).because).toBe('ETIMEDOUT is transient')
  })

  it('a typed error wherever it is, the outermost of several', () => {
    const inner = error('b', { cause: new Permanent('c') })
    expect(classify(error('a', { status: 503, cause: inner })).because).toBe('it was thrown as Permanent')
    expect(classify(new Transient('a', { cause: new Permanent('b') })).category).toBe('transient')
  })

  it('what is weak only where nothing below says more', () => {
    const weak = (more: object) => classify(error('no', { code: 'ERR_NETWORK', ...more })).because
    expect(weak({})).toBe('ERR_NETWORK is transient')
    expect(weak({ cause: error('no') })).toBe('ERR_NETWORK is transient')
    expect(weak({ cause: error('no', { status: 404 }) })).toBe('HTTP 404 is permanent')
    expect(weak({ errors: [error('no')] })).toBe('ERR_NETWORK is transient')
    expect(weak({ errors: [error('no', { status: 500 }), error('no')] })).toBe('HTTP 500 is unknown')
  })

  it('its cause before what was thrown with it, the most hopeful of these', () => {
    const busy = error('no', { status: 429 })
    const gone = error('no', { status: 404 })
    expect(classify(error('a', { cause: gone, errors: [busy] })).status).toBe(404)
    expect(classify(error('a', { cause: error('b'), errors: [gone, busy] })).category).toBe('rate-limited')
    // what says nothing is unknown, so it gives hope where the rest has none
    expect(classify(error('a', { errors: [gone, error('b')] })).because).toBe(
      'nothing is known of such an error',
    )
  })

  it('Retry-After of the error that decides, and of what a typed error wraps', () => {
    const now = Date.UTC(2026, 0, 31, 10, 0, 0)
    const headers = { 'retry-after': 'Sat, 31 Jan 2026 10:00:30 GMT' }
    const busy = () => error('no', { status: 429, headers })
    expect(classify(error('a', { cause: busy() }), [], now).retryAfter).toBe(30_000)
    expect(classify(new RateLimited('a', { cause: error('b', { cause: busy() }) }), [], now).retryAfter).toBe(
      30_000,
    )
    expect(classify(new RateLimited('a', { retryAfter: 5, cause: busy() }), [], now).retryAfter).toBe(5)
    expect(classify(new RateLimited('a', { cause: error('b') }))).not.toHaveProperty('retryAfter')
    expect(classify(error('no', { status: 404, headers }), [], now)).not.toHaveProperty('retryAfter')
    expect(classify(error('no', { status: 500, headers }), [], now).retryAfter).toBe(30_000)
    expect(classify(error('no', { headers }), [], now)).not.toHaveProperty('retryAfter')
  })
})

describe('an override', () => {
  const matches = (match: Override['match'], thrown: unknown) =>
    classify(thrown, [{ match, category: 'rate-limited', reason: 'so' }]).because === 'override: so'

  it('changes the category and its reason, nothing else', () => {
    const busy = error('no', { status: 503, headers: { 'retry-after': '2' } })
    const before = classify(busy)
    const by = (category: Override['category']) =>
      classify(busy, [{ match: { status: 503 }, category, reason: 'so' }])
    expect(by('unknown')).toStrictEqual({ ...before, category: 'unknown', because: 'override: so' })
    const plain = error('no', { status: 503 })
    expect(classify(plain, [{ match: { status: 503 }, category: 'unknown', reason: 'so' }])).toStrictEqual({
      ...classify(plain),
      category: 'unknown',
      because: 'override: so',
    })
    const { retryAfter, ...rest } = before
    expect(retryAfter).toBe(2000)
    expect(by('permanent')).toStrictEqual({ ...rest, category: 'permanent', because: 'override: so' })
  })

  it('matches the failure as it is told, or any one of its errors', () => {
    const cause = error('b', { name: 'B', code: 'Y', status: 409 })
    const thrown = error('a', { name: 'A', code: 'X', cause })
    expect(matches({ name: 'A', code: 'X' }, thrown)).toBe(true)
    expect(matches({ name: 'B', code: 'Y', status: 409, message: 'b' }, thrown)).toBe(true)
    expect(matches({ name: 'A', status: 409 }, thrown)).toBe(true)
    expect(matches({ name: 'A', code: 'Y' }, thrown)).toBe(true)
    expect(matches({ message: 'a (cause: b)' }, thrown)).toBe(true)
    expect(matches({ name: 'B', code: 'X' }, thrown)).toBe(false)
    expect(matches({ name: 'B', status: 409, message: 'a' }, thrown)).toBe(false)
    expect(matches({ name: 'C' }, thrown)).toBe(false)
  })

  it('matches also what was thrown together, at any depth', () => {
    const deep = error('c', { code: 'Z' })
    const thrown = error('a', { errors: [error('x'), error('b', { cause: deep })] })
    expect(matches({ code: 'Z' }, thrown)).toBe(true)
    expect(matches({ code: 'Z', message: 'c' }, thrown)).toBe(true)
    expect(matches({ code: 'Z', message: 'b' }, thrown)).toBe(false)
  })

  it.each([
    ['abc', true],
    ['b', true],
    ['a*c', true],
    ['*', true],
    ['a*b*c*', true],
    ['', true],
    ['ac', false],
    ['c*a', false],
    ['ab*bc', false],
    ['a*d', false],
    ['abcd', false],
  ])("by the pattern '%s' of the message 'abc': %s", (message, expected) => {
    expect(matches({ message }, error('abc'))).toBe(expected)
  })
})
