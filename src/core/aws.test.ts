import { createServer, type OutgoingHttpHeaders } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import type { Failure } from './failure.ts'

interface Answer {
  status: number
  headers?: OutgoingHttpHeaders
  body?: string
  hang?: boolean
}

let answer: Answer
let client: SQSClient
let QueueUrl: string

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    if (answer.hang) return
    const headers = { 'content-type': 'application/x-amz-json-1.0', ...answer.headers }
    response.writeHead(answer.status, headers).end(answer.body ?? '')
  })
})

const clientAt = (port: number, more: object = {}) =>
  new SQSClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
    ...more,
  })

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  client = clientAt(port)
  QueueUrl = `http://127.0.0.1:${port}/000000000000/orders`
})

afterAll(() => {
  client.destroy()
  server.close()
  server.closeAllConnections()
})

beforeEach(() => {
  answer = { status: 200, body: '{}' }
})

const failureOf = async (fn: () => Promise<unknown>): Promise<Failure> => {
  try {
    await fn()
  } catch (error) {
    return classify(error)
  }
  throw new Error('nothing was thrown')
}

const change = () =>
  client.send(
    new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: 'handle', VisibilityTimeout: 30 }),
  )
const remove = () => client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: 'handle' }))
const send = () => client.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }))

/** As the AWS JSON protocol says it; the header is for the codes that SQS had before it spoke JSON. */
const refusal = (
  status: number,
  type: string,
  { legacy, text = 'no' }: { legacy?: string; text?: string },
) => ({
  status,
  headers: legacy === undefined ? {} : { 'x-amzn-query-error': `${legacy};Sender` },
  body: JSON.stringify({ __type: type, message: text }),
})

const HANDLE_EXPIRED =
  'Value AQEB for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.'
const HANDLE_GONE =
  'Value AQEB for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.'

describe('SQS', () => {
  it.each([
    // [what, status, type, {the older code, text}, category, kind]
    ['unavailable', 503, 'ServiceUnavailable', {}, 'transient', 'integration'],
    ['unavailable, by exception', 503, 'ServiceUnavailableException', {}, 'transient', 'integration'],
    ['a gateway', 502, 'Unknown', {}, 'transient', 'integration'],
    ['a gateway that waited', 504, 'Unknown', {}, 'transient', 'timeout'],
    [
      'not in flight',
      400,
      'com.amazonaws.sqs#MessageNotInflight',
      { legacy: 'AWS.SimpleQueueService.MessageNotInflight' },
      'transient',
      'integration',
    ],
    [
      'visibility expired',
      400,
      'com.amazon.coral.service#InvalidParameterValueException',
      { legacy: 'InvalidParameterValue', text: HANDLE_EXPIRED },
      'transient',
      'integration',
    ],
    [
      'visibility expired, and taken by another',
      400,
      'com.amazon.coral.service#InvalidParameterValueException',
      { legacy: 'InvalidParameterValue', text: HANDLE_GONE },
      'transient',
      'integration',
    ],
    [
      'visibility expired, of one in a batch',
      400,
      'com.amazonaws.sqs#ReceiptHandleIsInvalid',
      { legacy: 'ReceiptHandleIsInvalid', text: 'The receipt handle has expired' },
      'transient',
      'integration',
    ],
    [
      'throttled',
      400,
      'com.amazonaws.sqs#RequestThrottled',
      { legacy: 'RequestThrottled' },
      'rate-limited',
      'integration',
    ],
    [
      'throttled, as AWS says elsewhere',
      400,
      'com.amazon.coral.service#ThrottlingException',
      {},
      'rate-limited',
      'integration',
    ],
    [
      'throttled as if forbidden',
      403,
      'com.amazon.coral.service#RequestThrottledException',
      {},
      'rate-limited',
      'integration',
    ],
    [
      'throttled by the key service',
      400,
      'com.amazonaws.sqs#KmsThrottled',
      { legacy: 'KMS.ThrottlingException' },
      'rate-limited',
      'integration',
    ],
    [
      'too many in flight',
      400,
      'com.amazonaws.sqs#OverLimit',
      { legacy: 'OverLimit' },
      'rate-limited',
      'integration',
    ],
    [
      'deleted a moment ago',
      400,
      'com.amazonaws.sqs#QueueDeletedRecently',
      { legacy: 'AWS.SimpleQueueService.QueueDeletedRecently' },
      'transient',
      'integration',
    ],
    [
      'an invalid parameter',
      400,
      'com.amazon.coral.service#InvalidParameterValueException',
      { legacy: 'InvalidParameterValue', text: 'One or more parameters are invalid.' },
      'permanent',
      'integration',
    ],
    [
      'a handle that never was one',
      400,
      'com.amazonaws.sqs#ReceiptHandleIsInvalid',
      { legacy: 'ReceiptHandleIsInvalid', text: 'The input receipt handle is invalid.' },
      'permanent',
      'integration',
    ],
    [
      'contents that can not be',
      400,
      'com.amazonaws.sqs#InvalidMessageContents',
      { legacy: 'InvalidMessageContents' },
      'permanent',
      'integration',
    ],
    [
      'no such queue',
      400,
      'com.amazonaws.sqs#QueueDoesNotExist',
      { legacy: 'AWS.SimpleQueueService.NonExistentQueue' },
      'permanent',
      'integration',
    ],
    ['access denied', 403, 'com.amazon.coral.service#AccessDeniedException', {}, 'permanent', 'auth'],
    ['a token that expired', 400, 'com.amazon.coral.service#ExpiredTokenException', {}, 'permanent', 'auth'],
    ['an unknown key', 400, 'com.amazon.coral.service#UnrecognizedClientException', {}, 'permanent', 'auth'],
    [
      'a signature that does not match',
      403,
      'com.amazon.coral.service#SignatureDoesNotMatch',
      {},
      'permanent',
      'auth',
    ],
    ['a failure inside AWS', 500, 'com.amazon.coral.service#InternalFailure', {}, 'unknown', 'integration'],
  ] as const)('answers that say: %s', async (_, status, type, told, category, kind) => {
    answer = refusal(status, type, told)
    for (const command of [change, remove]) {
      expect(await failureOf(command)).toMatchObject({ category, kind, status })
    }
  })

  it('both its names are there for overrides', async () => {
    answer = refusal(400, 'com.amazonaws.sqs#QueueDoesNotExist', {
      legacy: 'AWS.SimpleQueueService.NonExistentQueue',
    })
    const error = await remove().catch((error: unknown) => error)
    expect(classify(error)).toMatchObject({ name: 'QueueDoesNotExist', code: 'QueueDoesNotExist' })
    for (const code of ['QueueDoesNotExist', 'AWS.SimpleQueueService.NonExistentQueue']) {
      const override = { match: { code }, category: 'transient', reason: 'it is about to be made' } as const
      expect(classify(error, [override]).category).toBe('transient')
    }
  })

  it('Retry-After', async () => {
    answer = { ...refusal(503, 'ServiceUnavailable', {}), headers: { 'retry-after': '4' } }
    expect(await failureOf(send)).toMatchObject({ category: 'transient', retryAfter: 4000 })
    answer = { ...refusal(400, 'ThrottlingException', {}), headers: { 'retry-after': '5' } }
    expect(await failureOf(send)).toMatchObject({ category: 'rate-limited', retryAfter: 5000 })
  })

  it('an answer in between that is no JSON counts by its status', async () => {
    answer = { status: 503, body: '<html>busy</html>' }
    expect(await failureOf(send)).toMatchObject({ category: 'transient', status: 503 })
    answer = { status: 503 }
    expect(await failureOf(send)).toMatchObject({ category: 'transient', status: 503 })
    answer = { status: 200, body: '<html>hello</html>' }
    const receive = () => client.send(new ReceiveMessageCommand({ QueueUrl }))
    expect(await failureOf(receive)).toMatchObject({ category: 'permanent', kind: 'schema' })
  })
})

describe('SQS out of reach', () => {
  it('a closed port', async () => {
    const gone = net.createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const { port } = gone.address() as AddressInfo
    await new Promise((resolve) => gone.close(resolve))
    const nobody = clientAt(port)
    const url = `http://127.0.0.1:${port}/000000000000/orders`
    const failing = () => nobody.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'x' }))
    expect(await failureOf(failing)).toMatchObject({
      category: 'transient',
      kind: 'integration',
      code: 'ECONNREFUSED',
    })
  })

  it('a server that hangs', async () => {
    answer = { status: 200, hang: true }
    const hasty = clientAt((server.address() as AddressInfo).port, {
      requestHandler: { requestTimeout: 30, throwOnRequestTimeout: true },
    })
    const failing = () => hasty.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }))
    expect(await failureOf(failing)).toMatchObject({ category: 'transient', kind: 'timeout' })
    const abortSignal = AbortSignal.timeout(30)
    const stopped = () => client.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }), { abortSignal })
    expect(await failureOf(stopped)).toMatchObject({ category: 'transient', kind: 'timeout' })
  })
})
