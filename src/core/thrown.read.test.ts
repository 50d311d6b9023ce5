import { describe, expect, it } from 'vitest'
import { FAILURE } from './errors.ts'
import { readThrown } from './thrown.ts'

const nothing = { codes: [], invalid: false, errors: [], stack: expect.any(Function) as () => undefined }
const bare = { name: 'Object', message: 'Object without a message', ...nothing }
/** Without a stack, so that the whole of it can be compared. */
const error = (message: string, more: object = {}) =>
  Object.assign(new Error(message), { stack: undefined, ...more })

describe('what is read of a thrown value', () => {
  it.each([
    ['no stock', 'string', 'no stock'],
    ['', 'string', 'an empty string was thrown'],
    [42, 'number', '42'],
    [0, 'number', '0'],
    [false, 'boolean', 'false'],
    [null, 'null', 'null'],
    [undefined, 'undefined', 'undefined'],
    [7n, 'bigint', '7'],
    [Symbol('x'), 'symbol', 'Symbol(x)'],
  ])('%s', (value, name, message) => {
    expect(readThrown(value)).toStrictEqual({ name, message, ...nothing })
  })

  it('an object, with no more than it has', () => {
    expect(readThrown({})).toStrictEqual(bare)
    expect(readThrown({ cause: null })).toStrictEqual(bare)
    expect(readThrown({ cause: undefined, status: 'x', stack: '', code: '', issues: [] })).toStrictEqual(bare)
    expect(readThrown(Object.create(null))).toStrictEqual({
      ...bare,
      name: 'object',
      message: 'object without a message',
    })
    expect(readThrown(error('no'))).toStrictEqual({ name: 'Error', message: 'no', ...nothing })
  })

  it('causes and other errors, each in its turn', () => {
    const below = { name: 'Error', message: 'b', ...nothing }
    expect(readThrown(error('a', { cause: error('b') }))).toStrictEqual({
      name: 'Error',
      message: 'a',
      ...nothing,
      cause: below,
    })
    expect(readThrown(error('a', { cause: 'b' })).cause).toMatchObject({ name: 'string', message: 'b' })
    expect(readThrown(error('a', { errors: [error('b'), 'c'] })).errors).toStrictEqual([
      below,
      { name: 'string', message: 'c', ...nothing },
    ])
  })

  it('at most 16 errors side by side, 8 one below the other, 64 in all, none twice', () => {
    const many = (length: number) => Array.from({ length }, () => error('x'))
    expect(readThrown({ errors: many(16) }).errors).toHaveLength(16)
    expect(readThrown({ errors: many(17) }).errors).toHaveLength(16)
    const depth = (value: ReturnType<typeof readThrown>): number => 1 + (value.cause ? depth(value.cause) : 0)
    const deep = (levels: number): object => (levels === 1 ? {} : { cause: deep(levels - 1) })
    expect(depth(readThrown(deep(8)))).toBe(8)
    expect(depth(readThrown(deep(9)))).toBe(8)
    const under = (value: ReturnType<typeof readThrown>): number =>
      1 + value.errors.reduce((sum, each) => sum + under(each), 0)
    const tree = (levels: number): object =>
      levels === 0 ? {} : { errors: Array.from({ length: 16 }, () => tree(levels - 1)) }
    expect(under(readThrown(tree(2)))).toBe(64)
    const side = (levels: number): object => (levels === 1 ? {} : { errors: [side(levels - 1)] })
    expect(under(readThrown(side(9)))).toBe(8)
    const self: { errors: unknown[] } = { errors: [] }
    self.errors.push(self, {})
    expect(readThrown(self).errors).toHaveLength(1)
  })
})

describe('its name', () => {
  class NoStock extends Error {}
  class No extends Error {}

  it.each<[string, () => unknown, string]>([
    ['its own', () => Object.assign(new NoStock(), { name: 'Own' }), 'Own'],
    ["its class's", () => new NoStock(), 'NoStock'],
    ['not that of a class made small', () => new No(), 'Error'],
    ['that of several', () => new AggregateError([]), 'AggregateError'],
    ['as Azure writes it', () => Object.assign(new NoStock(), { name: 'error' }), 'NoStock'],
    ['none, and a class', () => Object.assign(new NoStock(), { name: '' }), 'NoStock'],
    ['none, and none', () => Object.assign(new No(), { name: '' }), 'object'],
    ['no text', () => Object.assign(new No(), { name: 7 }), 'object'],
    ['too long', () => Object.assign(new No(), { name: 'x'.repeat(101) }), `${'x'.repeat(99)}…`],
  ])('%s', (_, make, name) => {
    expect(readThrown(make()).name).toBe(name)
  })
})

describe('its message', () => {
  it.each<[string, object, string]>([
    ['said', { message: 'no', description: 'other' }, 'no'],
    ['described', { message: '', description: 'why' }, 'why'],
    ['a status', { message: '', status: 503 }, 'HTTP 503'],
    ['a status with a word', { status: 503, statusText: 'Busy', description: 'why' }, 'HTTP 503 Busy'],
    ['neither', { message: 7, description: '' }, 'Object without a message'],
    ['issues as a page of JSON', { message: '[{}]', issues: [{ message: 'no', path: ['a'] }] }, 'a: no'],
    ['issues, and a sentence', { message: 'see below', issues: [{ message: 'no' }] }, 'see below'],
    ['a list, and no issues', { message: '[x]', issues: [] }, '[x]'],
    [
      'issues that can not be told',
      { message: '[', issues: [{ message: 'x', path: 7 }] },
      'does not fit its schema',
    ],
  ])('%s', (_, thrown, message) => {
    expect(readThrown(thrown).message).toBe(message)
  })

  it('issues that can not be told are issues still', () => {
    const path = [
      {
        get key() {
          throw new Error('do not touch')
        },
      },
    ]
    expect(readThrown({ message: '[', issues: [{ message: 'x', path }] })).toMatchObject({
      message: 'does not fit its schema',
      invalid: true,
    })
  })
})

describe('its status', () => {
  it.each<[object, number | undefined]>([
    [{ status: 100 }, 100],
    [{ status: 599 }, 599],
    [{ statusCode: 404 }, 404],
    [{ response: { status: 404 } }, 404],
    [{ response: { statusCode: 404 } }, 404],
    [{ $metadata: { httpStatusCode: 404 } }, 404],
    [{ status: 404, response: { status: 503 } }, 404],
    [{ status: 'x', statusCode: 404 }, 404],
    [{ status: 99 }, undefined],
    [{ status: 600 }, undefined],
    [{ status: 404.5 }, undefined],
    [{ status: '404' }, undefined],
    // a reply in another protocol is no HTTP, even if it has such a number
    [{ status: 404, responseCode: 550, command: 'RCPT TO' }, undefined],
    [{ $metadata: { httpStatusCode: 404 }, $fault: 'client' }, 404],
  ])('%j: %s', (thrown, status) => {
    expect(readThrown(thrown).status).toBe(status)
    expect('status' in readThrown(thrown)).toBe(status !== undefined)
  })
})

describe('how long it asks to wait', () => {
  it.each<[string, object, string | number | undefined]>([
    ['its headers', { headers: { 'retry-after': '3' } }, '3'],
    ['in capitals', { headers: { 'Retry-After': '3' } }, '3'],
    ['its response', { response: { headers: new Headers({ 'Retry-After': '3' }) } }, '3'],
    ['the response of AWS', { $response: { headers: { 'retry-after': '3' } } }, '3'],
    ['metadata', { metadata: new Map([['grpc-retry-pushback-ms', ['250']]]) }, 250],
    ['milliseconds of Azure', { headers: { 'x-ms-retry-after-ms': '5', 'retry-after': '3' } }, 5],
    ['milliseconds of OpenAI', { headers: { 'retry-after-ms': '5' } }, 5],
    ['no milliseconds', { headers: { 'retry-after-ms': '-5', 'retry-after': '3' } }, '3'],
    ['a number', { headers: { 'retry-after': 3 } }, '3'],
    ['a list', { headers: { 'retry-after': ['3', '4'] } }, '3'],
    ['the nearest', { headers: { 'retry-after': '3' }, response: { headers: { 'retry-after': '4' } } }, '3'],
    ['the next', { headers: {}, response: { headers: { 'retry-after': '4' } } }, '4'],
    ['no text', { headers: { 'retry-after': true } }, undefined],
    ['no headers', { headers: 'retry-after: 3' }, undefined],
  ])('by %s', (_, thrown, retryAfter) => {
    expect(readThrown(thrown).retryAfter).toBe(retryAfter)
    expect('retryAfter' in readThrown(thrown)).toBe(retryAfter !== undefined)
  })
})

describe('its codes', () => {
  it.each<[object, readonly string[]]>([
    [{ code: 'EPIPE' }, ['EPIPE']],
    [{ code: 7 }, ['7']],
    [{ code: '' }, []],
    [{ code: Number.NaN }, []],
    [{ code: {} }, []],
    [{ code: 'a', condition: 'b', errcode: 3, Code: 'd', originalCode: 'e' }, ['e', 'd', '3', 'b', 'a']],
    [{ code: 'a', Code: 'a' }, ['a']],
    [{ code: 'EENVELOPE', responseCode: 550, command: 'RCPT TO' }, ['550', 'EENVELOPE']],
    [{ name: 'AbortError', code: 20 }, []],
    [{ name: 'TimeoutError', code: 23 }, []],
    [{ name: 'AbortError', code: 'ABORT_ERR' }, ['ABORT_ERR']],
    [{ name: 'OtherError', code: 20 }, ['20']],
    [{ code: 'x'.repeat(101) }, [`${'x'.repeat(99)}…`]],
  ])('%j', (thrown, codes) => {
    expect(readThrown(thrown).codes).toEqual(codes)
  })
})

describe('what a typed error says', () => {
  it.each<[unknown, object | undefined]>([
    [
      { category: 'permanent', kind: 'business' },
      { category: 'permanent', kind: 'business' },
    ],
    [{ category: 'transient' }, { category: 'transient', kind: 'handler' }],
    [
      { category: 'transient', kind: 'timeout', retryAfter: 0 },
      { category: 'transient', kind: 'timeout', retryAfter: 0 },
    ],
    [
      { category: 'transient', kind: 'timeout', retryAfter: -1 },
      { category: 'transient', kind: 'timeout' },
    ],
    [
      { category: 'transient', kind: 'timeout', retryAfter: Number.POSITIVE_INFINITY },
      { category: 'transient', kind: 'timeout' },
    ],
    [
      { category: 'transient', kind: 'timeout', retryAfter: '5' },
      { category: 'transient', kind: 'timeout' },
    ],
    [{ category: 'cursed', kind: 'timeout' }, undefined],
    ['permanent', undefined],
  ])('%j', (told, expected) => {
    const read = readThrown({ [FAILURE]: told })
    expect(read.told).toStrictEqual(expected)
    expect('told' in read).toBe(expected !== undefined)
  })
})

describe('its stack', () => {
  const frame = '\n    at run (file.ts:1:1)'

  it('is kept whole where it is short', () => {
    expect(readThrown({ stack: `Error: no${frame}` }).stack()).toBe(`Error: no${frame}`)
    expect(readThrown({ stack: 'no frames' }).stack()).toBe('no frames')
    expect(readThrown({ stack: 7 }).stack()).toBeUndefined()
    expect(readThrown({ stack: '' }).stack()).toBeUndefined()
  })

  it('loses of its head before its frames', () => {
    expect(readThrown({ stack: `${'x'.repeat(1000)}${frame}` }).stack()).toBe(`${'x'.repeat(1000)}${frame}`)
    expect(readThrown({ stack: `${'x'.repeat(1001)}${frame}` }).stack()).toBe(`${'x'.repeat(999)}…${frame}`)
    const long = readThrown({ stack: `Error: no${frame.repeat(1000)}` }).stack()!
    expect(long).toHaveLength(4000)
    expect(long.startsWith(`Error: no${frame}`)).toBe(true)
    expect(readThrown({ stack: 'x'.repeat(4000) }).stack()).toHaveLength(4000)
    expect(readThrown({ stack: 'x'.repeat(4001) }).stack()).toBe(`${'x'.repeat(3999)}…`)
  })
})
