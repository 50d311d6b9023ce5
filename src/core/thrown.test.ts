import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spentOn } from '../../test/spent.ts'
import { classify } from './classify.ts'
import { CATEGORIES, type Failure, KINDS } from './failure.ts'

const expectValid = (failure: Failure) => {
  expect(CATEGORIES).toContain(failure.category)
  expect(KINDS).toContain(failure.kind)
  expect(failure.name).not.toBe('')
  expect(failure.name.length).toBeLessThanOrEqual(100)
  expect(failure.message).not.toBe('')
  expect(failure.message.length).toBeLessThanOrEqual(2000)
  expect(failure.because).not.toBe('')
  expect((failure.code ?? 'x').length).toBeLessThanOrEqual(100)
  expect((failure.stack ?? 'x').length).toBeLessThanOrEqual(4000)
  expect(failure.retryAfter ?? 0).toBeGreaterThanOrEqual(0)
  // Plain data: it travels as JSON and comes back the same.
  expect(JSON.parse(JSON.stringify(failure))).toEqual(failure)
}

const throwing = () => {
  throw new Error('do not touch')
}

const OVERRIDE = { category: 'permanent', reason: 'so' } as const

describe('hostile values', () => {
  const allTraps = Object.fromEntries(
    ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'apply', 'construct'].map(
      (trap) => [trap, throwing],
    ),
  )
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const endless: unknown = new Proxy(() => {}, { get: () => endless })
  const growing = (): Error => Object.defineProperty(new Error('x'), 'cause', { get: growing })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'no stock'],
    ['an empty string', ''],
    ['a number', 42],
    ['a bigint', 42n],
    ['a symbol', Symbol('x')],
    ['a function', () => {}],
    ['an empty object', {}],
    ['no prototype', Object.create(null)],
    ['an array', [1, 2]],
    ['a promise', Promise.resolve()],
    ['a proxy that throws', new Proxy({}, allTraps)],
    ['a proxy of an error that throws', new Proxy(new Error('x'), allTraps)],
    ['a revoked proxy', revoked.proxy],
    ['a proxy that answers everything with itself', endless],
    ['causes without end', growing()],
    ['getters that throw', Object.defineProperty(new Error('x'), 'message', { get: throwing })],
    ['headers that throw', { status: 429, headers: { get: throwing } }],
    ['issues that throw', { issues: [{ message: 'x', path: [{ toString: throwing }] }] }],
    ['a path without end', { issues: [{ message: 'x', path: new Array(2 ** 32 - 1) }] }],
    ['metadata that throws', { code: 14, details: 'x', metadata: { get: throwing } }],
    ['metadata that is a proxy', { code: 14, details: 'x', metadata: new Proxy({}, allTraps) }],
    ['a response that throws', { $fault: 'client', $metadata: new Proxy({}, allTraps), $response: endless }],
    ['a frozen error', Object.freeze(new Error('x'))],
    ['codes out of range', { code: 99, details: 'x', metadata: {}, errcode: 2 ** 40, condition: 'amqp:' }],
    ['a result that is no number', { code: 'ERR_SQLITE_ERROR', errcode: Number.NaN }],
    ['properties of the wrong type', { name: 7, message: {}, stack: 1, code: {}, status: 'x', cause: 1 }],
    ['a list without end', { errors: { length: Number.POSITIVE_INFINITY } }],
    ['a list of a negative length', { errors: { length: -1 } }],
    ['no message and no name', Object.assign(new Error(''), { name: '' })],
  ])('%s', (_, value) => {
    expectValid(classify(value))
  })

  it('an error behind a proxy is still an error', () => {
    const proxied = new Proxy(Object.assign(new Error('gone'), { code: 'ECONNRESET' }), {})
    expect(classify(proxied)).toMatchObject({ category: 'transient', message: 'gone' })
  })

  it('a getter that throws hides only itself', () => {
    const error = Object.defineProperty(Object.assign(new Error('busy'), { status: 503 }), 'cause', {
      get: throwing,
    })
    expect(classify(error)).toMatchObject({ category: 'transient', message: 'busy', status: 503 })
  })

  it.each([
    ['plain', 'x'],
    ['URLs with no end', '//a:'],
    ['passwords', '//a:b@'],
    ['AMQP replies', '; 404 (NOT-FOUND) with message'],
    ['system calls', 'connect E'],
    ['reasons', 'GeneralError: '],
    ['frames', '\n    at '],
    ['halves of characters', '\ud83d'],
  ])('megabytes of %s take no time', (_, part) => {
    const text = part.repeat(Math.ceil(4_000_000 / part.length))
    const keys = [...['name', 'message', 'stack', 'code', 'details', 'condition', 'description', 'sqlState']]
    const all = Object.fromEntries(keys.map((key) => [key, text]))
    const more = {
      severity: text,
      headers: { 'retry-after': text },
      metadata: new Map([['retry-after', text]]),
    }
    const spent = spentOn(() => {
      for (const name of [text, 'MessagingError']) {
        expectValid(classify({ ...all, ...more, name }, [{ ...OVERRIDE, match: { message: `${part}*!` } }]))
      }
    })
    expect(spent).toBeLessThan(1000)
  })

  it('a crowd of errors is cut', () => {
    const crowd = (depth: number): Error =>
      depth === 0 ? new Error('leaf') : new AggregateError(Array.from({ length: 16 }, () => crowd(depth - 1)))
    const error = crowd(3)
    expect(spentOn(() => expectValid(classify(error)))).toBeLessThan(500)
  })
})

describe('what is kept', () => {
  it('strings and other values thrown', () => {
    expect(classify('no stock')).toMatchObject({ name: 'string', message: 'no stock', category: 'unknown' })
    expect(classify(null)).toMatchObject({ name: 'null', message: 'null' })
    expect(classify({ reason: 'x' })).toMatchObject({ name: 'Object', message: 'Object without a message' })
  })

  it("the class's name where the error has none of its own", () => {
    class NoStock extends Error {}
    expect(classify(new NoStock('x')).name).toBe('NoStock')
    expect(classify(new RangeError('x')).name).toBe('RangeError')
    expect(classify(Object.assign(new NoStock('x'), { name: 'Own' })).name).toBe('Own')
    // minified
    const a = { b: class extends Error {} }
    Object.defineProperty(a.b, 'name', { value: 'b' })
    expect(classify(new a.b('x')).name).toBe('Error')
  })

  it('a long message does not push the stack out', () => {
    const failure = classify(new Error('x'.repeat(1_000_000)))
    expectValid(failure)
    expect(failure.message).toHaveLength(2000)
    expect(failure.stack).toContain('thrown.test.ts')
  })

  it('a cut never leaves half a character', () => {
    for (const pad of ['', 'x']) {
      const { message } = classify(new Error(pad + '😀'.repeat(2000)))
      expect(message.isWellFormed()).toBe(true)
    }
    expect(classify(new Error('a\0b')).message).toBe('a\ufffdb')
  })

  it('no password of a URL, not even half of one', () => {
    const secret = 'hunter2/'.replace('/', '@x')
    const url = `amqp://ann:${secret}@mq.example.org/orders`
    const failure = classify(new Error(`cannot reach ${url}`))
    expect(JSON.stringify(failure)).not.toContain('hunter2')
    expect(failure.message).toBe('cannot reach amqp://ann:***@mq.example.org/orders')
    for (let pad = 1940; pad < 2000; pad++) {
      expect(classify(new Error('x'.repeat(pad) + url)).message).not.toContain('hunter')
    }
  })
})

describe('whatever is thrown', () => {
  const key = fc.constantFrom(
    ...[
      'name',
      'message',
      'stack',
      'code',
      'status',
      'statusCode',
      'response',
      'headers',
      'retry-after',
      'cause',
    ],
    ...['errors', 'issues', 'responseCode', 'command', 'methodId', 'canRetry', 'apiId', 'constructor', 'get'],
    ...['severity', 'sqlState', 'errcode', 'details', 'metadata', '$metadata', '$fault', '$response'],
    ...[
      'httpStatusCode',
      'condition',
      'description',
      'retry-after-ms',
      'grpc-retry-pushback-ms',
      'retryable',
    ],
  )
  const word = fc.constantFrom(
    ...[
      'ECONNRESET',
      'PLT_KFK_RESPONSE',
      'TimeoutError',
      'AggregateError',
      '404 (NOT-FOUND) with message "x"',
    ],
    ...['ERR_SQLITE_ERROR', 'SQLITE_BUSY', '40P01', 'ServiceBusError', 'GeneralError', 'amqp:not-allowed'],
    ...['ThrottlingException', 'ERR_INVALID_URL', 'timeout of 1ms exceeded', 5, 14, 1555],
    ...[404, 429, 503, 550, -1, Number.NaN, '7', '', true],
  )
  const shaped = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      word,
      fc.anything(),
      tie('object'),
      tie('error'),
      fc.array(tie('value')),
    ),
    object: fc.dictionary(key, tie('value')),
    error: fc
      .tuple(fc.string(), fc.dictionary(key, tie('value')))
      .map(([message, more]) => Object.assign(new Error(message), more)),
  }))

  const runs = Math.max(1000, fc.readConfigureGlobal().numRuns ?? 0)

  /** As it is, frozen, behind a proxy that sometimes throws, or part of a circle. */
  const guise = fc.constantFrom<(error: Error) => unknown>(
    (error) => error,
    (error) => Object.freeze(error),
    (error) => Object.setPrototypeOf(error, null),
    (error) =>
      new Proxy(error, {
        get: (target, key) => (String(key).length % 2 ? throwing() : Reflect.get(target, key)),
      }),
    (error) => Object.assign(error, { cause: new AggregateError([error, { cause: error }]) }),
  )

  it('is a valid failure', () => {
    fc.assert(
      fc.property(fc.oneof(shaped.value, fc.anything({ withNullPrototype: true })), (value) => {
        expectValid(classify(value))
      }),
      { numRuns: runs },
    )
  })

  it('is a valid failure in any guise', () => {
    fc.assert(
      fc.property(shaped.error, guise, (error, disguise) => {
        expectValid(classify(disguise(error as Error), [{ ...OVERRIDE, match: { message: '*' } }]))
      }),
      { numRuns: runs },
    )
  })

  it('overrides decide whatever they match', () => {
    fc.assert(
      fc.property(shaped.error, fc.constantFrom(...CATEGORIES), (error, category) => {
        const { name } = classify(error)
        const failure = classify(error, [{ match: { name }, category, reason: 'so' }])
        expectValid(failure)
        expect(failure).toMatchObject({ category, because: 'override: so' })
      }),
      { numRuns: 200 },
    )
  })
})
