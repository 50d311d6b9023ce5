import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import axios, { type AxiosRequestConfig } from 'axios'
import * as undici from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import type { Failure } from './failure.ts'

const NOW = Date.UTC(2026, 0, 31, 10, 0, 0)

const failureOf = async (fn: () => Promise<unknown>): Promise<Failure> => {
  try {
    await fn()
  } catch (error) {
    return classify(error, [], NOW)
  }
  throw new Error('nothing was thrown')
}

/** `/503` answers so; `/reset`, `/cut`, `/hang` and `/garbage` are what they say. */
const answer = (request: IncomingMessage, response: ServerResponse) => {
  const { socket } = request
  switch (request.url) {
    case '/reset':
      return socket.resetAndDestroy()
    case '/cut':
      response.writeHead(200, { 'content-length': '100' })
      return response.write('abc', () => socket.destroy())
    case '/hang':
      return undefined
    case '/seconds':
      return response.writeHead(429, { 'retry-after': '3' }).end()
    case '/not-json':
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{bad')
    default:
      return response
        .writeHead(Number(request.url!.slice(1)), { 'retry-after': 'Sat, 31 Jan 2026 10:00:30 GMT' })
        .end()
  }
}

const server = createServer(answer)
let at: string
let closed: string

beforeAll(async () => {
  const gone = net.createServer()
  for (const each of [server, gone]) {
    await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve))
  }
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  closed = `http://127.0.0.1:${(gone.address() as AddressInfo).port}/`
  await new Promise((resolve) => gone.close(resolve))
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

const statuses = [
  [400, 'permanent', 'integration', undefined],
  [401, 'permanent', 'auth', undefined],
  [403, 'permanent', 'auth', undefined],
  [404, 'permanent', 'integration', undefined],
  [408, 'permanent', 'integration', undefined],
  [425, 'permanent', 'integration', undefined],
  [429, 'rate-limited', 'integration', 30_000],
  [500, 'unknown', 'integration', 30_000],
  [502, 'transient', 'integration', 30_000],
  [503, 'transient', 'integration', 30_000],
  [504, 'transient', 'timeout', 30_000],
  [507, 'unknown', 'integration', 30_000],
] as const

describe('axios', () => {
  const get = (path: string, config: AxiosRequestConfig = {}) =>
    axios.get(path.startsWith('http') ? path : at + path, config)

  it.each(statuses)('HTTP %i', async (status, category, kind, retryAfter) => {
    const failure = await failureOf(() => get(String(status)))
    expect(failure).toMatchObject({ name: 'AxiosError', category, kind, status })
    expect(failure.retryAfter).toBe(retryAfter)
  })

  it('Retry-After in seconds', async () => {
    expect(await failureOf(() => get('seconds'))).toMatchObject({
      category: 'rate-limited',
      retryAfter: 3000,
    })
  })

  it.each([
    ['a reset', () => get('reset'), 'integration'],
    ['an answer that is cut', () => get('cut'), 'integration'],
    ['a closed port', () => get(closed), 'integration'],
    ['a closed port, by fetch', () => get(closed, { adapter: 'fetch' }), 'integration'],
    ['its timeout', () => get('hang', { timeout: 30 }), 'timeout'],
    ['its timeout, by fetch', () => get('hang', { timeout: 30, adapter: 'fetch' }), 'timeout'],
    ['a signal', () => get('hang', { signal: AbortSignal.timeout(30) }), 'timeout'],
  ])('%s is transient', async (_, fn, kind) => {
    expect(await failureOf(fn)).toMatchObject({ category: 'transient', kind })
  })

  it('an answer that is not JSON is permanent', async () => {
    const strict = { responseType: 'json', transitional: { silentJSONParsing: false } } as const
    expect(await failureOf(() => get('not-json', strict))).toMatchObject({
      category: 'permanent',
      kind: 'schema',
    })
  })

  it('no URL is an illegal argument', async () => {
    expect(await failureOf(() => axios.get('nonsense'))).toMatchObject({
      category: 'permanent',
      kind: 'handler',
      code: 'ERR_INVALID_URL',
    })
  })
})

describe('undici', () => {
  const request = async (path: string, options: object = {}) => {
    const response = await undici.request(path.startsWith('http') ? path : at + path, options)
    return response.body.text()
  }
  const telling = new undici.Agent().compose(undici.interceptors.responseError())

  it.each(statuses)('HTTP %i', async (status, category, kind, retryAfter) => {
    const failure = await failureOf(() => request(String(status), { dispatcher: telling }))
    expect(failure).toMatchObject({ name: 'ResponseError', category, kind, status })
    expect(failure.retryAfter).toBe(retryAfter)
  })

  it('its own retries, when they end', async () => {
    const dispatcher = new undici.RetryAgent(new undici.Agent(), {
      maxRetries: 1,
      minTimeout: 1,
      retryAfter: false,
    })
    expect(await failureOf(() => request('503', { dispatcher }))).toMatchObject({
      name: 'RequestRetryError',
      category: 'transient',
      status: 503,
    })
  })

  const aborted = () => {
    const abort = new AbortController()
    const failing = request('hang', { signal: abort.signal })
    abort.abort()
    return failing
  }
  const late = { connect: { timeout: 1 } }

  it.each([
    ['a reset', () => request('reset'), 'integration'],
    ['an answer that is cut', () => request('cut'), 'integration'],
    ['a closed port', () => request(closed), 'integration'],
    ['no headers in time', () => request('hang', { headersTimeout: 30 }), 'timeout'],
    ['a signal', () => request('hang', { signal: AbortSignal.timeout(30) }), 'timeout'],
    ['an abort', aborted, 'timeout'],
    ['a pool that was destroyed', () => destroyed(), 'integration'],
  ])('%s is transient', async (_, fn, kind) => {
    expect(await failureOf(fn)).toMatchObject({ category: 'transient', kind })
  })

  const destroyed = async () => {
    const client = new undici.Client(at, late)
    await client.destroy()
    return client.request({ path: '/', method: 'GET' })
  }

  it.each([
    ['ConnectTimeoutError', 'transient', 'timeout'],
    ['BodyTimeoutError', 'transient', 'timeout'],
    ['SocketError', 'transient', 'integration'],
    ['ClientClosedError', 'transient', 'integration'],
    ['ResponseContentLengthMismatchError', 'transient', 'integration'],
    ['InvalidArgumentError', 'permanent', 'handler'],
    ['NotSupportedError', 'unknown', 'handler'],
  ] as const)('its class %s is %s', (name, category, kind) => {
    const error = new undici.errors[name]()
    expect(classify(error)).toMatchObject({ name, category, kind })
    // so it comes out of fetch
    expect(classify(new TypeError('fetch failed', { cause: error }))).toMatchObject({ category, kind })
  })

  it('a bad method is an illegal argument', async () => {
    expect(await failureOf(() => request('200', { method: 'NOT A METHOD' }))).toMatchObject({
      category: 'permanent',
      kind: 'handler',
    })
  })
})
