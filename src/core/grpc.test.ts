import net, { type AddressInfo } from 'node:net'
import grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { classify } from './classify.ts'
import type { Failure } from './failure.ts'

const raw = (bytes: Buffer): Buffer => bytes

const service: grpc.ServiceDefinition = {
  fail: {
    path: '/test.Test/Fail',
    requestStream: false,
    responseStream: false,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  },
}

/** Answers with the status that the request names, and never to 0. */
const fail: grpc.handleUnaryCall<Buffer, Buffer> = ({ request, metadata }, answer) => {
  const code = Number(request.toString())
  const trailers = new grpc.Metadata()
  for (const value of metadata.get('x-pushback')) trailers.set('grpc-retry-pushback-ms', value)
  if (code > 0) answer({ code, details: `status ${code}`, metadata: trailers })
}

const server = new grpc.Server()
let address: string

beforeAll(async () => {
  server.addService(service, { fail })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    )
  })
  address = `127.0.0.1:${port}`
})

afterAll(() => server.forceShutdown())

interface Call {
  to?: string
  method?: string
  options?: grpc.CallOptions
  limits?: grpc.ClientOptions
  pushback?: string
  cancel?: boolean
}

const call = (
  request: string,
  { to = address, method, options = {}, limits, pushback, cancel }: Call = {},
) => {
  const client = new grpc.Client(to, grpc.credentials.createInsecure(), limits)
  onTestFinished(() => client.close())
  const metadata = new grpc.Metadata()
  if (pushback) metadata.set('x-pushback', pushback)
  return new Promise<Failure>((resolve, reject) => {
    const path = method ?? '/test.Test/Fail'
    const under = client.makeUnaryRequest(path, raw, raw, Buffer.from(request), metadata, options, (error) =>
      error ? resolve(classify(error)) : reject(new Error('it answered')),
    )
    if (cancel) under.cancel()
  })
}

describe('gRPC', () => {
  it.each([
    [1, 'CANCELLED', 'transient', 'timeout'],
    [2, 'UNKNOWN', 'unknown', 'integration'],
    [3, 'INVALID_ARGUMENT', 'permanent', 'integration'],
    [4, 'DEADLINE_EXCEEDED', 'transient', 'timeout'],
    [5, 'NOT_FOUND', 'permanent', 'integration'],
    [6, 'ALREADY_EXISTS', 'permanent', 'integration'],
    [7, 'PERMISSION_DENIED', 'permanent', 'auth'],
    [8, 'RESOURCE_EXHAUSTED', 'rate-limited', 'integration'],
    [9, 'FAILED_PRECONDITION', 'permanent', 'integration'],
    [10, 'ABORTED', 'transient', 'integration'],
    [11, 'OUT_OF_RANGE', 'permanent', 'integration'],
    [12, 'UNIMPLEMENTED', 'permanent', 'integration'],
    [13, 'INTERNAL', 'unknown', 'integration'],
    [14, 'UNAVAILABLE', 'transient', 'integration'],
    [15, 'DATA_LOSS', 'unknown', 'integration'],
    [16, 'UNAUTHENTICATED', 'permanent', 'auth'],
  ] as const)('%i %s is %s, kind %s', async (number, code, category, kind) => {
    const failure = await call(String(number))
    expect(failure).toMatchObject({
      category,
      kind,
      code,
      message: `${number} ${code}: status ${number}`,
      because: `gRPC ${code} is ${category}`,
    })
    expect(failure).not.toHaveProperty('status')
  })

  it('a deadline', async () => {
    const failure = await call('0', { options: { deadline: Date.now() + 50 } })
    expect(failure).toMatchObject({ category: 'transient', kind: 'timeout', code: 'DEADLINE_EXCEEDED' })
  })

  it('a call that we cancel', async () => {
    expect(await call('0', { cancel: true })).toMatchObject({ category: 'transient', kind: 'timeout' })
  })

  it('a closed port', async () => {
    const gone = net.createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const { port } = gone.address() as AddressInfo
    await new Promise((resolve) => gone.close(resolve))
    expect(await call('0', { to: `127.0.0.1:${port}` })).toMatchObject({
      category: 'transient',
      kind: 'integration',
      code: 'UNAVAILABLE',
    })
  })

  it('a method that is not there', async () => {
    expect(await call('0', { method: '/test.Test/None' })).toMatchObject({
      category: 'permanent',
      code: 'UNIMPLEMENTED',
    })
  })

  it('a message that is too large is not a quota', async () => {
    const limits = { 'grpc.max_send_message_length': 4 }
    expect(await call('12345', { limits })).toMatchObject({
      category: 'permanent',
      code: 'RESOURCE_EXHAUSTED',
    })
  })

  it('how long the server asks to wait', async () => {
    expect((await call('14', { pushback: '250' })).retryAfter).toBe(250)
    expect((await call('8', { pushback: '1500' })).retryAfter).toBe(1500)
    expect(await call('14', { pushback: '-1' })).not.toHaveProperty('retryAfter')
    expect(await call('5', { pushback: '250' })).not.toHaveProperty('retryAfter')
  })

  it('as the cause of another error, and by its name or number in overrides', async () => {
    const error = Object.assign(new Error('14 UNAVAILABLE: no'), {
      code: 14,
      details: 'no',
      metadata: new grpc.Metadata(),
    })
    expect(classify(new Error('stock could not be asked', { cause: error }))).toMatchObject({
      category: 'transient',
      code: 'UNAVAILABLE',
    })
    for (const code of ['UNAVAILABLE', '14']) {
      const override = { match: { code }, category: 'permanent', reason: 'so' } as const
      expect(classify(error, [override]).category).toBe('permanent')
    }
    // a number alone is not gRPC
    expect(classify(Object.assign(new Error('no'), { code: 14 }))).toMatchObject({ category: 'unknown' })
  })
})
