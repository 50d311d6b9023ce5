import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import net, { type AddressInfo } from 'node:net'
import { ServiceBusAdministrationClient, ServiceBusClient, ServiceBusError } from '@azure/service-bus'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { classify } from './classify.ts'
import type { Failure } from './failure.ts'

type PipelinePolicy = Parameters<ServiceBusAdministrationClient['pipeline']['addPolicy']>[0]

/**
 * There is no Service Bus to be had without Azure, so the SDK talks to a stand-in that speaks just enough of its AMQP 1.0,
 * by the library that the SDK itself uses: it takes or refuses tokens, closes links with a condition, rejects messages
 * with one. The errors are what the real SDK makes of these; that Azure sends them is the SDK's word, not ours.
 */
interface Rhea {
  create_container(): Container
  message: { data_section(bytes: Buffer): unknown }
}
interface Container {
  on(event: string, heard: (context: Context) => void): void
  listen(options: { port: number; host: string }): net.Server
}
interface Link {
  name: string
  source: { address: string }
  target: { address: string } | null
  set_source(source: object): void
  set_target(target: object | null): void
  close(error: { condition: string; description: string }): void
  send(message: object, tag?: Buffer): void
}
interface Context {
  sender: Link
  receiver: Link
  message: { message_id: string; reply_to: string }
  delivery: { reject(error: { condition: string; description: string }): void }
  connection: { socket?: net.Socket }
}

const sdk = createRequire(createRequire(import.meta.url).resolve('@azure/service-bus'))
const rhea = createRequire(sdk.resolve('rhea-promise'))('rhea') as Rhea

const standIn = (tokenStatus: number): net.Server => {
  const answers = new Map<string, Link>()
  const container = rhea.create_container()
  const open = (link: Link, address: string): void => {
    link.set_source(link.source)
    link.set_target(link.target)
    const [verb, condition] = address.split('=')
    if (verb === 'refuse') link.close({ condition: condition!, description: 'no' })
  }
  container.on('receiver_open', ({ receiver }) => open(receiver, receiver.target!.address))
  container.on('sender_open', ({ sender }) => {
    const { address } = sender.source
    open(sender, address)
    for (const name of [sender.name, sender.target?.address ?? '']) answers.set(name, sender)
    if (!address.startsWith('lock=')) return
    const lockedUntil = { 'x-opt-locked-until': new Date(Date.now() + 30_000) }
    const body = rhea.message.data_section(Buffer.from('"x"'))
    sender.send({ body, message_id: '1', message_annotations: lockedUntil }, Buffer.alloc(16, 7))
  })
  container.on('message', ({ receiver, message, delivery }) => {
    const { address } = receiver.target!
    const answer = (properties: object) =>
      answers
        .get(message.reply_to)
        ?.send({ correlation_id: message.message_id, application_properties: properties })
    if (address === '$cbs') return answer({ 'status-code': tokenStatus, 'status-description': 'so' })
    const [, condition = ''] = address.replace('/$management', '').split('=')
    if (address.endsWith('$management')) {
      return answer({ statusCode: 410, statusDescription: 'no', errorCondition: condition })
    }
    return delivery.reject({ condition, description: 'no' })
  })
  for (const event of ['disconnected', 'connection_error', 'session_error']) container.on(event, () => {})
  return container.listen({ port: 0, host: '127.0.0.1' })
}

const opened: net.Socket[] = []

const portOf = async (server: net.Server): Promise<number> => {
  server.on('connection', (socket: net.Socket) => opened.push(socket))
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

const connectionString = (port: number) =>
  `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true`

const clientAt = (port: number) =>
  new ServiceBusClient(connectionString(port), { retryOptions: { maxRetries: 0, timeoutInMs: 2_000 } })

const servers: net.Server[] = []
const clients: ServiceBusClient[] = []
let client: ServiceBusClient

const standInClient = async (tokenStatus: number): Promise<ServiceBusClient> => {
  const server = standIn(tokenStatus)
  servers.push(server)
  const made = clientAt(await portOf(server))
  clients.push(made)
  return made
}

beforeAll(async () => {
  client = await standInClient(202)
})

afterAll(async () => {
  await Promise.all(clients.map((each) => each.close()))
  for (const server of servers) server.close()
  for (const socket of opened) socket.destroy()
})

const failureOf = async (fn: () => Promise<unknown>): Promise<Failure> => {
  try {
    await fn()
  } catch (error) {
    return classify(error)
  }
  throw new Error('nothing was thrown')
}

const send = (queue: string, by = client) => by.createSender(queue).sendMessages({ body: 'x' })

describe('Service Bus', () => {
  it.each([
    // [condition on the wire, the SDK's word, category, kind]
    ['com.microsoft:server-busy', 'ServiceBusy', 'rate-limited', 'integration'],
    ['com.microsoft:timeout', 'ServiceTimeout', 'transient', 'timeout'],
    ['amqp:not-found', 'ServiceCommunicationProblem', 'transient', 'integration'],
    ['com.microsoft:message-lock-lost', 'MessageLockLost', 'transient', 'integration'],
    ['com.microsoft:session-lock-lost', 'SessionLockLost', 'transient', 'integration'],
    ['com.microsoft:session-cannot-be-locked', 'SessionCannotBeLocked', 'transient', 'integration'],
    ['amqp:resource-limit-exceeded', 'QuotaExceeded', 'transient', 'integration'],
    ['amqp:connection:forced', 'ConnectionForcedError', 'transient', 'integration'],
    ['amqp:link:detach-forced', 'DetachForcedError', 'transient', 'integration'],
    ['amqp:not-allowed', 'InvalidOperationError', 'permanent', 'integration'],
    ['com.microsoft:argument-error', 'ArgumentError', 'permanent', 'integration'],
    ['amqp:link:message-size-exceeded', 'MessageSizeExceeded', 'permanent', 'integration'],
    ['com.microsoft:message-not-found', 'MessageNotFound', 'permanent', 'integration'],
    ['amqp:unauthorized-access', 'UnauthorizedAccess', 'permanent', 'auth'],
    ['com.microsoft:auth-failed', 'UnauthorizedAccess', 'permanent', 'auth'],
    ['com.microsoft:entity-disabled', 'MessagingEntityDisabled', 'unknown', 'integration'],
    ['amqp:internal-error', 'InternalServerError', 'unknown', 'integration'],
  ] as const)('%s is %s, %s', async (condition, code, category, kind) => {
    const expected = {
      name: 'ServiceBusError',
      category,
      kind,
      code,
      because: `Service Bus ${code} is ${category}`,
    }
    expect(await failureOf(() => send(`reject=${condition}`))).toMatchObject(expected)
    expect(await failureOf(() => send(`refuse=${condition}`))).toMatchObject(expected)
  })

  it.each([
    ['com.microsoft:message-lock-lost', 'MessageLockLost', 'transient'],
    ['amqp:not-allowed', 'InvalidOperationError', 'permanent'],
  ] as const)('a lock that is not renewed, for %s', async (condition, code, category) => {
    const receiver = client.createReceiver(`lock=${condition}`)
    const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 2_000 })
    expect(await failureOf(() => receiver.renewMessageLock(message!))).toMatchObject({ category, code })
  })

  it('a session that is taken', async () => {
    const accept = () => client.acceptSession('refuse=com.microsoft:session-cannot-be-locked', 'order-1')
    // thrown by the SDK as it came from the wire: no Error, no message, no code
    const error: unknown = await accept().catch((error: unknown) => error)
    expect(error).not.toBeInstanceOf(Error)
    expect(classify(error)).toMatchObject({
      category: 'transient',
      kind: 'integration',
      code: 'SessionCannotBeLocked',
      message: 'no',
    })
  })

  it('a key that is wrong', async () => {
    const wrong = await standInClient(401)
    const failure = await failureOf(() => send('orders', wrong))
    expect(failure).toMatchObject({ category: 'permanent', kind: 'auth', code: 'UnauthorizedAccess' })
    expect(JSON.stringify(failure)).not.toContain('c2VjcmV0')
  })

  it('a closed port', async () => {
    const gone = net.createServer()
    const port = await portOf(gone.listen(0, '127.0.0.1'))
    await new Promise((resolve) => gone.close(resolve))
    const nobody = clientAt(port)
    const expected = { category: 'transient', kind: 'integration', code: 'ECONNREFUSED' }
    expect(await failureOf(() => send('orders', nobody))).toMatchObject(expected)
    const receive = () => nobody.createReceiver('orders').receiveMessages(1, { maxWaitTimeInMs: 100 })
    expect(await failureOf(receive)).toMatchObject(expected)
    await nobody.close()
    expect(await failureOf(() => send('orders', nobody))).toMatchObject({ category: 'transient' })
  })

  it('its exported class, without a wire', () => {
    expect(classify(new ServiceBusError('gone', 'SessionLockLost'))).toMatchObject({ category: 'transient' })
    expect(classify(new ServiceBusError('no', 'UnauthorizedAccess'))).toMatchObject({ kind: 'auth' })
    expect(classify(new ServiceBusError('?', 'GeneralError'))).toMatchObject({
      category: 'unknown',
      code: 'GeneralError',
    })
  })
})

/** The client insists on TLS; the stand-in has none. */
const overHttp: PipelinePolicy = {
  name: 'over-http',
  sendRequest: (request, next) => {
    request.url = request.url.replace('https:', 'http:')
    request.allowInsecureConnection = true
    return next(request)
  },
}

describe('an AMQP 1.0 condition as it came', () => {
  it.each([
    ['com.microsoft:server-busy', 'ServerBusy', 'rate-limited', 'integration'],
    ['com.microsoft:timeout', 'Timeout', 'transient', 'timeout'],
    ['com.microsoft:message-lock-lost', 'MessageLockLost', 'transient', 'integration'],
    ['com.microsoft:session-lock-lost', 'SessionLockLost', 'transient', 'integration'],
    ['amqp:resource-limit-exceeded', 'ResourceLimitExceeded', 'transient', 'integration'],
    ['amqp:connection:forced', 'Forced', 'transient', 'integration'],
    ['amqp:link:detach-forced', 'DetachForced', 'transient', 'integration'],
    ['amqp:not-allowed', 'NotAllowed', 'permanent', 'integration'],
    ['com.microsoft:argument-error', 'ArgumentError', 'permanent', 'integration'],
    ['amqp:not-found', 'NotFound', 'permanent', 'integration'],
    ['amqp:unauthorized-access', 'UnauthorizedAccess', 'permanent', 'auth'],
    ['com.microsoft:auth-failed', 'AuthFailed', 'permanent', 'auth'],
    ['com.microsoft:entity-disabled', 'EntityDisabled', 'unknown', 'integration'],
    ['amqp:internal-error', 'InternalError', 'unknown', 'integration'],
  ] as const)('%s', (condition, code, category, kind) => {
    expect(classify({ condition, description: 'no' })).toMatchObject({ category, kind, code })
    const override = { match: { code: condition }, category: 'unknown', reason: 'so' } as const
    expect(classify({ condition }, [override]).because).toBe('override: so')
  })

  it('another condition tells nothing', () => {
    for (const condition of ['constructor', 'amqp:', 'sunny', 'com.microsoft:brand-new']) {
      expect(classify({ condition }).category).toBe('unknown')
    }
  })
})

describe('Service Bus administration', () => {
  it.each([
    [401, 'permanent', 'auth', undefined],
    [404, 'permanent', 'integration', undefined],
    [429, 'rate-limited', 'integration', 5000],
    [500, 'unknown', 'integration', 5000],
    [503, 'transient', 'integration', 5000],
  ] as const)('HTTP %i', async (status, category, kind, retryAfter) => {
    const server = createServer((_, response) => {
      const headers = { 'content-type': 'application/xml', 'retry-after': '5' }
      response.writeHead(status, headers).end(`<Error><Code>${status}</Code><Detail>no</Detail></Error>`)
    })
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const port = await portOf(server.listen(0, '127.0.0.1'))
    const admin = new ServiceBusAdministrationClient(connectionString(port), {
      retryOptions: { maxRetries: 0 },
    })
    admin.pipeline.addPolicy(overHttp)
    const failure = await failureOf(() => admin.getQueue('orders'))
    expect(failure).toMatchObject({ name: 'RestError', category, kind, status })
    expect(failure.retryAfter).toBe(retryAfter)
  })
})
