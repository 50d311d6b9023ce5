import { randomUUID } from 'node:crypto'
import net, { type AddressInfo } from 'node:net'
import { Producer } from '@platformatic/kafka'
import amqp from 'amqplib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeWith } from '../../test/services/urls.ts'
import { classify } from './classify.ts'
import { fromReply } from './replies.ts'

const failureOf = async (fn: () => unknown) => {
  try {
    await fn()
  } catch (error) {
    return classify(error)
  }
  throw new Error('nothing was thrown')
}

const portOf = async (server: net.Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const closedPort = async (): Promise<number> => {
  const server = net.createServer()
  const port = await portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Passes everything on to a real server until it is told to cut; or, without one, takes all and says nothing. */
const wire = async (to?: URL) => {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((near) => {
    sockets.add(near.on('error', () => {}))
    if (!to) return
    const far = net.connect(Number(to.port), to.hostname).on('error', () => {})
    sockets.add(far)
    near.pipe(far).pipe(near)
  })
  const port = await portOf(server)
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  return { port, cut }
}

describe('AMQP without a broker', () => {
  it('a closed port', async () => {
    const port = await closedPort()
    expect(await failureOf(() => amqp.connect(`amqp://127.0.0.1:${port}`))).toMatchObject({
      category: 'transient',
      code: 'ECONNREFUSED',
    })
  })

  it('a server that says nothing', async () => {
    const { port } = await wire()
    const failure = await failureOf(() => amqp.connect(`amqp://127.0.0.1:${port}`, { timeout: 50 }))
    expect(failure).toMatchObject({ category: 'transient', kind: 'timeout', message: 'connect ETIMEDOUT' })
  })

  it('a server that hangs up on the greeting', async () => {
    const server = net.createServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.end())
    })
    const port = await portOf(server)
    onTestFinished(() => void server.close())
    expect(await failureOf(() => amqp.connect(`amqp://127.0.0.1:${port}`))).toMatchObject({
      category: 'transient',
      kind: 'integration',
      message: 'Socket closed abruptly during opening handshake',
    })
  })
})

describeWith('amqp', 'AMQP with a broker', (url) => {
  const channelAt = async (address: string) => {
    const connection = await amqp.connect(address)
    connection.on('error', () => {})
    onTestFinished(() => connection.close().catch(() => {}))
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => {})
    return { connection, channel }
  }

  it('an unknown queue, and what follows on the closed channel', async () => {
    const { channel } = await channelAt(url)
    expect(await failureOf(() => channel.checkQueue(randomUUID()))).toMatchObject({
      category: 'permanent',
      kind: 'integration',
      code: '404',
      because: 'AMQP 404 (not found) is permanent',
    })
    expect(await failureOf(() => channel.checkQueue('any'))).toMatchObject({
      category: 'transient',
      name: 'IllegalOperationError',
    })
  })

  it('a queue with other arguments', async () => {
    const { channel } = await channelAt(url)
    const queue = randomUUID()
    await channel.assertQueue(queue, { exclusive: true })
    const failure = await failureOf(() => channel.assertQueue(queue, { exclusive: true, maxLength: 5 }))
    expect(failure).toMatchObject({ category: 'permanent', kind: 'integration', code: '406' })
    expect(failure).not.toHaveProperty('status')
  })

  it("another's exclusive queue", async () => {
    const { channel } = await channelAt(url)
    const { channel: other } = await channelAt(url)
    const queue = randomUUID()
    await channel.assertQueue(queue, { exclusive: true })
    expect(await failureOf(() => other.checkQueue(queue))).toMatchObject({
      category: 'transient',
      code: '405',
    })
  })

  it('a reserved name', async () => {
    const { channel } = await channelAt(url)
    expect(await failureOf(() => channel.assertQueue(`amq.${randomUUID()}`))).toMatchObject({
      category: 'permanent',
      kind: 'auth',
      code: '403',
    })
  })

  it('a wrong password', async () => {
    const wrong = new URL(url)
    wrong.password = 'no-such-password'
    const failure = await failureOf(() => amqp.connect(wrong.href))
    expect(failure).toMatchObject({ category: 'permanent', kind: 'auth', code: '403' })
    expect(JSON.stringify(failure)).not.toContain('no-such-password')
  })

  it('a connection that is cut', async () => {
    const { port, cut } = await wire(new URL(url))
    const through = new URL(url)
    through.port = String(port)
    const { connection, channel } = await channelAt(through.href)
    const closed = new Promise((resolve) => connection.once('close', resolve))
    cut()
    await closed
    expect(await failureOf(() => channel.checkQueue('any'))).toMatchObject({ category: 'transient' })
    expect(await failureOf(() => connection.createChannel())).toMatchObject({ category: 'transient' })
  })

  it('a connection that is cut while an answer is awaited', async () => {
    const { port, cut } = await wire(new URL(url))
    const through = new URL(url)
    through.port = String(port)
    const { channel } = await channelAt(through.href)
    const failing = failureOf(() => channel.checkQueue(randomUUID()))
    cut()
    expect(await failing).toMatchObject({ category: 'transient', kind: 'integration' })
  })
})

const producerAt = (server: string, more: object = {}) => {
  const limits = { retries: 0, connectTimeout: 300, requestTimeout: 300, timeout: 1000 }
  const producer = new Producer({ clientId: 'test', bootstrapBrokers: [server], ...limits, ...more })
  producer.on('error', () => {})
  onTestFinished(() => producer.close().catch(() => {}))
  return producer
}

const send = (producer: ReturnType<typeof producerAt>, topic: string, value = 'x') =>
  producer.send({ messages: [{ topic, value: Buffer.from(value) }], autocreateTopics: false })

describe('Kafka without a broker', () => {
  it('a closed port', async () => {
    const producer = producerAt(`127.0.0.1:${await closedPort()}`)
    expect(await failureOf(() => send(producer, 'any'))).toMatchObject({
      category: 'transient',
      kind: 'integration',
      name: 'MultipleErrors',
      code: 'ECONNREFUSED',
    })
  })

  it('a server that says nothing', async () => {
    const { port } = await wire()
    const producer = producerAt(`127.0.0.1:${port}`)
    expect(await failureOf(() => send(producer, 'any'))).toMatchObject({
      category: 'transient',
      kind: 'timeout',
      name: 'TimeoutError',
    })
  })

  it.each([
    ['NOT_LEADER_OR_FOLLOWER', true, 'transient', 'integration'],
    ['REQUEST_TIMED_OUT', true, 'transient', 'timeout'],
    ['REBALANCE_IN_PROGRESS', false, 'transient', 'integration'],
    ['THROTTLING_QUOTA_EXCEEDED', true, 'rate-limited', 'integration'],
    ['MESSAGE_TOO_LARGE', false, 'permanent', 'integration'],
    ['TOPIC_AUTHORIZATION_FAILED', false, 'permanent', 'auth'],
    ['SASL_AUTHENTICATION_FAILED', false, 'permanent', 'auth'],
    ['INVALID_PRODUCER_EPOCH', false, 'unknown', 'integration'],
  ] as const)('reply %s', (code, canRetry, category, kind) => {
    expect(fromReply({ protocol: 'Kafka', code, canRetry })).toMatchObject({ category, kind })
  })
})

describeWith('kafka', 'Kafka with a broker', (server) => {
  it('an unknown topic', async () => {
    expect(await failureOf(() => send(producerAt(server), randomUUID()))).toMatchObject({
      category: 'permanent',
      name: 'UserError',
      code: 'PLT_KFK_USER',
    })
  })

  it('a topic that can not be', async () => {
    expect(await failureOf(() => send(producerAt(server), 'not a topic!'))).toMatchObject({
      category: 'permanent',
      kind: 'integration',
      name: 'ResponseError',
      code: 'INVALID_TOPIC_EXCEPTION',
      because: 'Kafka INVALID_TOPIC_EXCEPTION is permanent',
    })
  })

  it('credentials that the broker does not take', async () => {
    const sasl = { mechanism: 'PLAIN', username: 'ann', password: 'secret' }
    const failure = await failureOf(() => send(producerAt(server, { sasl }), 'any'))
    expect(failure).toMatchObject({ category: 'permanent', kind: 'auth', code: 'PLT_KFK_AUTHENTICATION' })
    expect(JSON.stringify(failure)).not.toContain('secret')
  })

  it('a client that was closed', async () => {
    const producer = producerAt(server)
    await producer.close()
    expect(await failureOf(() => send(producer, 'any'))).toMatchObject({
      category: 'transient',
      code: 'PLT_KFK_NETWORK',
    })
  })
})
