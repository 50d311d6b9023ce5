import { validateHeaderValue } from 'node:http'
import { type AddressInfo, connect, createServer, type LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { spentOn } from '../../test/spent.ts'
import { classify, type Override } from './classify.ts'
import { ReprieveError } from './error.ts'
import { Permanent, Transient } from './errors.ts'

const thrownBy = async (fn: () => unknown): Promise<unknown> => {
  try {
    await fn()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const withStatus = (status: number, more: object = {}) => Object.assign(new Error('no'), { status, ...more })
const withCode = (code: string, message = 'no') => Object.assign(new Error(message), { code })

describe('the decision tree', () => {
  it.each([
    [400, 'permanent', 'integration'],
    [401, 'permanent', 'auth'],
    [403, 'permanent', 'auth'],
    [404, 'permanent', 'integration'],
    [408, 'permanent', 'integration'],
    [422, 'permanent', 'integration'],
    [429, 'rate-limited', 'integration'],
    [499, 'permanent', 'integration'],
    [500, 'unknown', 'integration'],
    [501, 'unknown', 'integration'],
    [502, 'transient', 'integration'],
    [503, 'transient', 'integration'],
    [504, 'transient', 'timeout'],
    [599, 'unknown', 'integration'],
  ] as const)('HTTP %i is %s, kind %s', (status, category, kind) => {
    const expected = { category, kind, status, because: `HTTP ${status} is ${category}` }
    expect(classify(withStatus(status))).toMatchObject(expected)
    expect(classify({ statusCode: status })).toMatchObject(expected)
    expect(classify(Object.assign(new Error('no'), { response: { status } }))).toMatchObject(expected)
    expect(classify(new Error('outer', { cause: withStatus(status) }))).toMatchObject(expected)
  })

  it('a status that is not of HTTP tells nothing', () => {
    for (const status of [0, 1, 99, 200, 302, 600, 404.5, Number.NaN]) {
      expect(classify(withStatus(status)).because).toBe('nothing is known of such an error')
    }
  })

  it.each([
    ['ECONNRESET', 'transient', 'integration'],
    ['ECONNREFUSED', 'transient', 'integration'],
    ['EPIPE', 'transient', 'integration'],
    ['EAI_AGAIN', 'transient', 'integration'],
    ['UND_ERR_SOCKET', 'transient', 'integration'],
    ['ETIMEDOUT', 'transient', 'timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'transient', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'transient', 'timeout'],
    ['EAUTH', 'permanent', 'auth'],
  ] as const)('%s is %s, kind %s', (code, category, kind) => {
    const expected = { category, kind, code, because: `${code} is ${category}` }
    expect(classify(withCode(code))).toMatchObject(expected)
    expect(classify(new TypeError('fetch failed', { cause: withCode(code) }))).toMatchObject(expected)
  })

  it.each(['ENOENT', 'EACCES', 'ENOSPC', 'ERR_INVALID_STATE', ''])("'%s' is unknown", (code) => {
    expect(classify(withCode(code))).toMatchObject({ category: 'unknown', kind: 'handler' })
  })

  it('anything else is unknown, a defect of the handler most of all', async () => {
    const defect = await thrownBy(() => (undefined as unknown as { sku: string }).sku)
    expect(classify(defect)).toMatchObject({
      category: 'unknown',
      kind: 'handler',
      name: 'TypeError',
      because: 'nothing is known of such an error',
    })
    expect(classify(await thrownBy(() => import('node:no-such' as string)))).toMatchObject({
      category: 'unknown',
    })
  })

  it.each<[string, string, () => unknown]>([
    ['a type', 'ERR_INVALID_ARG_TYPE', () => Buffer.from(7 as unknown as string)],
    ['a value', 'ERR_INVALID_ARG_VALUE', () => Buffer.alloc(1, 'zz', 'hex')],
    ['a number', 'ERR_OUT_OF_RANGE', () => Buffer.alloc(4).readInt32LE(9)],
    ['a buffer that is too short', 'ERR_BUFFER_OUT_OF_BOUNDS', () => Buffer.alloc(1).readInt32LE()],
    ['a URL', 'ERR_INVALID_URL', () => new URL('nonsense')],
    ['a header', 'ERR_INVALID_CHAR', () => validateHeaderValue('x', '\n')],
    ['a port', 'ERR_SOCKET_BAD_PORT', () => connect(70_000)],
  ])('%s that an API refuses is an illegal argument: %s is permanent', async (_, code, fn) => {
    expect(classify(await thrownBy(fn))).toMatchObject({ category: 'permanent', kind: 'handler', code })
  })

  it('a RangeError without a code is any defect', async () => {
    const endless = (): number => 1 + endless()
    for (const fn of [endless, () => (1).toFixed(200), () => new Date(Number.NaN).toISOString()]) {
      expect(classify(await thrownBy(fn))).toMatchObject({ category: 'unknown', name: 'RangeError' })
    }
  })

  it('our own errors', () => {
    expect(classify(new ReprieveError('unavailable', 'broker'))).toMatchObject({
      category: 'transient',
      kind: 'integration',
    })
    expect(classify(new ReprieveError('bad_event', 'too large'))).toMatchObject({ category: 'permanent' })
    expect(classify(new ReprieveError('unheard', 'nobody'))).toMatchObject({ category: 'unknown' })
    expect(classify(withCode('closed'))).toMatchObject({ category: 'unknown' })
  })
})

describe('timeouts', () => {
  it.each([
    ['AbortSignal.timeout', () => sleep(60_000, undefined, { signal: AbortSignal.timeout(1) })],
    ['its reason', () => AbortSignal.abort(new DOMException('late', 'TimeoutError')).throwIfAborted()],
    ['abort without a reason', () => AbortSignal.abort().throwIfAborted()],
    ['abort in Node', () => sleep(60_000, undefined, { signal: AbortSignal.abort() })],
  ])('%s', async (_, fn) => {
    const failure = classify(await thrownBy(fn))
    expect(failure).toMatchObject({ category: 'transient', kind: 'timeout' })
    expect(failure.code ?? '').not.toMatch(/\d/)
  })

  it('an abort says less than its reason', async () => {
    const signal = AbortSignal.abort(new Permanent('order was withdrawn'))
    const error = await thrownBy(() => sleep(60_000, undefined, { signal }))
    expect(classify(error)).toMatchObject({
      name: 'AbortError',
      category: 'permanent',
      message: 'The operation was aborted (cause: order was withdrawn)',
    })
    const busy = await thrownBy(() => sleep(1, undefined, { signal: AbortSignal.abort(withStatus(429)) }))
    expect(classify(busy)).toMatchObject({ category: 'rate-limited', status: 429 })
  })
})

describe('errors within errors', () => {
  it('the outermost that tells something decides', () => {
    const inner = new Error('b', { cause: withCode('ECONNRESET') })
    expect(classify(Object.assign(new Error('a', { cause: inner }), { status: 404 }))).toMatchObject({
      category: 'permanent',
    })
    expect(classify(new Error('a', { cause: inner }))).toMatchObject({
      category: 'transient',
      name: 'Error',
      code: 'ECONNRESET',
      message: 'a (cause: no)',
    })
  })

  it('of several the most hopeful counts', () => {
    const all = (...errors: unknown[]) => classify(new AggregateError(errors, 'several')).category
    expect(all(withStatus(404), withStatus(400))).toBe('permanent')
    expect(all(withStatus(404), new Error('?'))).toBe('unknown')
    expect(all(withStatus(404), withStatus(500), withCode('EPIPE'))).toBe('transient')
    expect(all(withCode('EPIPE'), withStatus(429), withStatus(404))).toBe('rate-limited')
    expect(all(new Permanent('x'), new Transient('y'))).toBe('transient')
    expect(all()).toBe('unknown')
  })

  it('a name with several addresses, all of them closed', async () => {
    const gone = createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const { port } = gone.address() as AddressInfo
    await new Promise((resolve) => gone.close(resolve))
    const error = await new Promise((resolve) => {
      const addresses = [
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ]
      const lookup: LookupFunction = (_, __, answer) => answer(null, addresses)
      connect({ host: 'two.invalid', port, lookup, autoSelectFamily: true }).on('error', resolve)
    })
    expect(error).toBeInstanceOf(AggregateError)
    expect(classify(error)).toMatchObject({ category: 'transient', code: 'ECONNREFUSED' })
    const bare = new AggregateError((error as AggregateError).errors, 'every address failed')
    expect(classify(bare)).toMatchObject({ category: 'transient', kind: 'integration' })
  })

  it('looks eight deep and no further, also in a circle', () => {
    const deep = (levels: number): Error =>
      levels === 1 ? withCode('ECONNRESET') : new Error(`${levels}`, { cause: deep(levels - 1) })
    expect(classify(deep(8)).category).toBe('transient')
    expect(classify(deep(9)).category).toBe('unknown')
    const a = new Error('a')
    const b = new Error('b', { cause: a })
    a.cause = b
    expect(classify(a)).toMatchObject({ category: 'unknown', message: 'a (cause: b)' })
    const self = new AggregateError([], 'self')
    self.errors.push(self, self)
    expect(classify(self).category).toBe('unknown')
  })
})

describe('overrides', () => {
  const rule = (match: Override['match'], category: Override['category'] = 'permanent'): Override => ({
    match,
    category,
    reason: 'we know better',
  })
  const lost = new TypeError('fetch failed', { cause: withCode('ECONNRESET', 'read ECONNRESET') })

  it.each([
    ['code', { code: 'ECONNRESET' }],
    ['name', { name: 'TypeError' }],
    ['name and code of different links', { name: 'TypeError', code: 'ECONNRESET' }],
    ['part of a message', { message: 'fetch' }],
    ['parts of a message', { message: 'fetch*ECONNRESET' }],
    ['message of the cause', { message: 'read ECONN' }],
  ] as const)('match by %s', (_, match) => {
    const failure = classify(lost, [rule(match)])
    expect(failure).toMatchObject({ category: 'permanent', because: 'override: we know better' })
    expect(failure.kind).toBe('integration')
  })

  it.each([
    ['nothing named', {}],
    ['nothing but undefined', { code: undefined }],
    ['another code', { code: 'EPIPE' }],
    ['one of two', { code: 'ECONNRESET', name: 'RangeError' }],
    ['another status', { status: 404 }],
    ['parts in the wrong order', { message: 'ECONNRESET*fetch' }],
    ['a pattern that is not one here', { message: 'fetch.failed' }],
  ] as const)('do not match by %s', (_, match) => {
    expect(classify(lost, [rule(match)]).category).toBe('transient')
  })

  it('come before typed errors, and the first wins', () => {
    const overrides = [rule({ name: 'Permanent' }, 'transient'), rule({ name: 'Permanent' }, 'unknown')]
    expect(classify(new Permanent('x'), overrides).category).toBe('transient')
  })

  it('match a status, and keep Retry-After only where it is of use', () => {
    const busy = withStatus(503, { headers: { 'retry-after': '2' } })
    expect(classify(busy, [rule({ status: 503 })])).not.toHaveProperty('retryAfter')
    expect(classify(busy, [rule({ status: 503 }, 'rate-limited')]).retryAfter).toBe(2000)
  })

  it('match every code an error carries', () => {
    const mail = Object.assign(withCode('EENVELOPE'), { responseCode: 550, command: 'RCPT TO' })
    for (const code of ['550', 'EENVELOPE']) {
      expect(classify(mail, [rule({ code }, 'transient')]).category).toBe('transient')
    }
  })

  it('patterns can not be made slow', () => {
    const pattern = 'a*'.repeat(1000)
    const error = new Error('a'.repeat(1999))
    const spent = spentOn(() => void classify(error, Array(50).fill(rule({ message: `${pattern}b` }))))
    expect(spent).toBeLessThan(1000)
  })
})

it('is pure: the same error gives the same failure, and is left as it was', () => {
  const error = Object.freeze(withStatus(503))
  expect(classify(error)).toEqual(classify(error))
})
