import { createServer, type RequestListener, Server } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classify } from './classify.ts'
import { parseRetryAfter } from './http.ts'

const listening = async (server: net.Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    if (server instanceof Server) server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** A server that does something to each connection once the request has come. */
const socketServer = (act: (socket: net.Socket) => void) =>
  listening(
    net.createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => act(socket))
    }),
  )

const httpServer = (answer: RequestListener) => listening(createServer(answer))

const failureOf = async (fn: () => Promise<unknown>, now?: number) => {
  try {
    await fn()
  } catch (error) {
    return classify(error, [], now)
  }
  throw new Error('nothing was thrown')
}

describe('fetch', () => {
  it('to a closed port', async () => {
    const server = net.createServer()
    const url = await listening(server)
    await new Promise((resolve) => server.close(resolve))
    expect(await failureOf(() => fetch(url))).toMatchObject({
      category: 'transient',
      kind: 'integration',
      name: 'TypeError',
      code: 'ECONNREFUSED',
      message: expect.stringMatching(/^fetch failed \(cause: connect ECONNREFUSED 127\.0\.0\.1:\d+\)$/),
      because: 'ECONNREFUSED is transient',
    })
  })

  it('to a server that resets', async () => {
    const url = await socketServer((socket) => socket.resetAndDestroy())
    expect(await failureOf(() => fetch(url))).toMatchObject({ category: 'transient', code: 'ECONNRESET' })
  })

  it('to a server that hangs up', async () => {
    const url = await socketServer((socket) => socket.end())
    expect(await failureOf(() => fetch(url))).toMatchObject({ category: 'transient', code: 'UND_ERR_SOCKET' })
  })

  it('to a server that resets amid its answer', async () => {
    const url = await socketServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc', () => socket.resetAndDestroy())
    })
    const failure = await failureOf(async () => (await fetch(url)).text())
    expect(failure).toMatchObject({ category: 'transient', kind: 'integration' })
  })

  it('to a server that does not answer in time', async () => {
    const url = await httpServer(() => {})
    const failure = await failureOf(() => fetch(url, { signal: AbortSignal.timeout(30) }))
    expect(failure).toMatchObject({ category: 'transient', kind: 'timeout', name: 'TimeoutError' })
    expect(failure).not.toHaveProperty('code')
  })

  it('to a name that does not exist', async () => {
    const failure = await failureOf(() => fetch('http://no-such-host.invalid/'))
    expect(failure).toMatchObject({
      category: 'transient',
      code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/),
    })
  })

  it('to nonsense is an illegal argument', async () => {
    expect(await failureOf(() => fetch('nonsense'))).toMatchObject({
      category: 'permanent',
      kind: 'handler',
      code: 'ERR_INVALID_URL',
    })
  })
})

describe('an answer that says no, as users throw it', () => {
  const ways: [string, (response: Response) => unknown][] = [
    [
      'error with status and headers',
      (res) => Object.assign(new Error(res.statusText), { status: res.status, headers: res.headers }),
    ],
    ['the response', (res) => res],
    ['error with the response', (response) => Object.assign(new Error('no'), { response })],
    ['plain header object', (res) => ({ statusCode: res.status, headers: Object.fromEntries(res.headers) })],
    ['as a cause', (cause) => new Error('could not notify', { cause })],
  ]

  it.each(ways)('%s', async (_, wrap) => {
    const url = await httpServer((request, response) => {
      const status = Number(request.url!.slice(1))
      response.writeHead(status, { 'retry-after': '3' }).end()
    })
    const failing = (status: number) =>
      failureOf(async () => {
        const response = await fetch(url + status)
        if (!response.ok) throw wrap(response)
      })
    expect(await failing(503)).toMatchObject({
      category: 'transient',
      kind: 'integration',
      status: 503,
      retryAfter: 3000,
      because: 'HTTP 503 is transient',
    })
    expect(await failing(429)).toMatchObject({ category: 'rate-limited', status: 429, retryAfter: 3000 })
    const refused = await failing(403)
    expect(refused).toMatchObject({ category: 'permanent', kind: 'auth', status: 403 })
    expect(refused).not.toHaveProperty('retryAfter')
  })

  it('a bare response has a message and no body is read', async () => {
    const response = new Response('secret', { status: 503, statusText: 'Service Unavailable' })
    expect(classify(response)).toMatchObject({ name: 'Response', message: 'HTTP 503 Service Unavailable' })
    expect(response.bodyUsed).toBe(false)
  })
})

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 31, 10, 0, 0)

  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7000],
    ['Sat, 31 Jan 2026 10:00:30 GMT', 30_000],
    ['Sat, 31 Jan 2026 09:59:00 GMT', 0],
    ['Saturday, 31-Jan-26 10:00:30 GMT', 30_000],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['Sat, 99 Foo 2026 GMT', undefined],
    ['99999999999999999999', undefined],
    ['', undefined],
  ])("'%s'", (header, ms) => {
    expect(parseRetryAfter(header, now)).toBe(ms)
  })

  it('a date needs the time', () => {
    const headers = { 'Retry-After': 'Sat, 31 Jan 2026 10:00:30 GMT' }
    expect(classify({ status: 429, headers }, [], now).retryAfter).toBe(30_000)
    expect(classify({ status: 429, headers })).not.toHaveProperty('retryAfter')
  })

  it.each([
    ['Headers', new Headers({ 'retry-after': '2' })],
    ['Map', new Map([['Retry-After', '2']])],
    ['number', { 'retry-after': 2 }],
    ['list', { 'retry-after': ['2'] }],
    ['milliseconds', { 'retry-after': '7', 'retry-after-ms': '2000' }],
    ['milliseconds, as Azure says too', new Headers({ 'x-ms-retry-after-ms': '2000' })],
    ['milliseconds that are none', { 'retry-after-ms': 'soon', 'retry-after': '2' }],
  ])('in %s', (_, headers) => {
    expect(classify({ status: 429, headers }).retryAfter).toBe(2000)
  })
})
