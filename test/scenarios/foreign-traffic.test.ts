import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Admin, Consumer, Producer } from '@platformatic/kafka'
import { connect } from 'amqplib'
import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import { type Reprieve, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-traffic-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Seen {
  readonly id: string
  readonly type: string
  readonly data: unknown
  readonly attempt: number
}

/** A service whose events come from people who never heard of CloudEvents; each is failed once. */
const listen = async (transport: string, topic: string, order = 'none') => {
  const name = `foreign-${randomUUID().slice(0, 13)}`
  const rules = readRules(
    `version: 1
defaults: { policy: { backoff: fixed, delay: 100ms, jitter: none, retries: 2 } }
topics: { ${topic}.more: [${topic}.named] }
services: { ${name}: { events: { ${topic}: { order: ${order} } } } }`,
    'test.yaml',
  )
  const app = await reprieve({ transport, store: `sqlite:${join(folder, `${name}.db`)}`, rules })
  onTestFinished(() => app.close())
  const seen: Seen[] = []
  app.service(name).on(topic, ({ id, type, data }, { attempt }) => {
    seen.push({ id, type, data, attempt })
    if (attempt === 1) throw Object.assign(new Error('busy'), { code: 'ECONNRESET' })
  })
  app.service(name).on(`${topic}.named`, () => {})
  await app.start()
  return { app, name, seen, done: () => seen.filter(({ attempt }) => attempt === 2) }
}

const letterIn = (app: Reprieve) => until('a letter', async () => (await app.office.list({}, 1))[0])

const BYTES = Buffer.from([0, 1, 0xfe, 0xff])

describeWith('amqp', 'plain clients of RabbitMQ', (url) => {
  it('publish text, JSON and bytes, which are handled and retried as events', async () => {
    const topic = `plain.${randomUUID()}`
    const { app, name, seen, done } = await listen(url, topic)
    const connection = await connect(url)
    onTestFinished(async () => {
      const channel = await connection.createChannel()
      for (const { name: destination } of app.destinations()) await channel.deleteQueue(destination)
      for (const queue of [`${name}.${topic}`, `${name}.${topic}.more`]) {
        await channel.deleteQueue(queue)
        await channel.deleteExchange(`${queue}.dlx`)
      }
      await connection.close()
    })
    const channel = await connection.createConfirmChannel()
    const send = (body: Buffer | string, options: object = {}) =>
      channel.publish('reprieve.events', topic, Buffer.from(body), options)
    send('{"n":1}')
    send('{"n":2}', { contentType: 'application/json', messageId: 'their-id' })
    send('good morning', { contentType: 'text/plain' })
    send(BYTES, { contentType: 'application/octet-stream', headers: { count: 7, when: new Date(0) } })
    send('no JSON and nothing says so')
    await channel.waitForConfirms()
    await until('all four', () => done().length === 4)
    expect(done().map(({ type }) => type)).toEqual([topic, topic, topic, topic])
    const data = done().map((each) => (each.data instanceof Uint8Array ? Buffer.from(each.data) : each.data))
    expect(data).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }, 'good morning', BYTES]))
    expect(seen.find(({ data: each }) => JSON.stringify(each) === '{"n":2}')?.id).toBe('their-id')
    // without an id of its own it has one and the same through its retries
    const first = seen.filter(({ data: each }) => JSON.stringify(each) === '{"n":1}')
    expect(new Set(first.map(({ id }) => id)).size).toBe(1)
    const { letter } = await letterIn(app)
    expect(letter).toMatchObject({ reason: 'undecodable', kind: 'schema' })
    expect(Buffer.from(letter.event.data!).toString()).toBe('no JSON and nothing says so')
    // whoever names the topic for a type means somebody else; what names none is meant for whoever listens there
    const passedBy = vi.fn()
    app.listen(['skipped'], passedBy)
    const more = (id: string, headers = {}) =>
      channel.publish('reprieve.events', `${topic}.more`, Buffer.from('{"n":3}'), { messageId: id, headers })
    const attributes = { specversion: '1.0', id: 'typed', source: 'them', type: `${topic}.more` }
    more('typed', Object.fromEntries(Object.entries(attributes).map(([k, v]) => [`cloudEvents:${k}`, v])))
    more('untyped')
    const letters = () => app.office.list({ type: `${topic}.more` }, 2)
    await until('both', async () => passedBy.mock.calls.length > 0 && (await letters()).length > 0)
    expect((await letters()).map(({ letter }) => letter)).toMatchObject([
      { error: expect.stringContaining('names no type'), event: { id: 'untyped' } },
    ])
    expect(passedBy.mock.calls).toMatchObject([[{ event: 'typed' }]])
  })

  it('receive what we publish as an ordinary message', async () => {
    const topic = `plain.${randomUUID()}`
    const connection = await connect(url)
    onTestFinished(() => connection.close())
    const channel = await connection.createChannel()
    await channel.assertExchange('reprieve.events', 'topic', { durable: true })
    const { queue } = await channel.assertQueue('', { exclusive: true })
    await channel.bindQueue(queue, 'reprieve.events', topic)
    const app = await reprieve({ transport: url, store: `sqlite:${join(folder, 'out.db')}`, office: false })
    onTestFinished(() => app.close())
    const id = await app.publish(topic, { n: 1 }, { headers: { tenant: 'a' }, correlationId: 'c' })
    const message = await until('the message', async () => (await channel.get(queue)) || undefined)
    expect(message.content.toString()).toBe('{"n":1}')
    expect(message.properties).toMatchObject({
      contentType: 'application/json',
      messageId: id,
      deliveryMode: 2,
      headers: { tenant: 'a', 'cloudEvents:id': id, 'cloudEvents:type': topic },
    })
  })
})

describeWith('kafka', 'plain clients of Kafka', (brokers) => {
  const common = { clientId: 'plain', bootstrapBrokers: brokers.split(','), timeout: 30_000 }

  it('produce JSON, text, bytes and tombstones, which are handled and retried as events; and read ours', async () => {
    const topic = `plain-${randomUUID()}`
    const { app, name, done } = await listen(kafkaUrl(brokers), topic)
    const producer = new Producer(common)
    const admin = new Admin(common)
    onTestFinished(async () => {
      await producer.close()
      const ours = (await admin.listTopics()).filter((each) => each.includes(name) || each === topic)
      await admin.deleteTopics({ topics: ours })
      await admin.close()
    })
    const typed = (type: string) => new Map([[Buffer.from('content-type'), Buffer.from(type)]])
    const key = Buffer.from('k')
    await producer.send({
      acks: -1,
      messages: [
        { topic, key, value: Buffer.from('{"n":1}') },
        { topic, value: Buffer.from('good morning'), headers: typed('text/plain') },
        { topic, value: BYTES, headers: typed('application/octet-stream') },
        { topic, key },
        { topic, value: Buffer.from('no JSON and nothing says so') },
      ] as never,
    })
    await until('all four', () => done().length === 4)
    const data = done().map((each) => (each.data instanceof Uint8Array ? Buffer.from(each.data) : each.data))
    expect(data).toEqual(expect.arrayContaining([{ n: 1 }, 'good morning', BYTES, undefined]))
    expect(done().every(({ id }) => id.startsWith(`kafka:${topic}/`))).toBe(true)
    const { letter } = await letterIn(app)
    expect(letter.reason).toBe('undecodable')
    expect(Buffer.from(letter.event.data!).toString()).toBe('no JSON and nothing says so')

    const id = await app.publish(topic, { n: 2 }, { orderKey: 'o', headers: { tenant: 'a' } })
    const consumer = new Consumer({ ...common, groupId: `plain-${randomUUID()}`, autocommit: false })
    onTestFinished(() => consumer.close(true) as Promise<void>)
    for await (const record of await consumer.consume({ topics: [topic], mode: 'earliest' })) {
      if (record.value?.toString() !== '{"n":2}') continue
      const headers = Object.fromEntries([...record.headers].map(([each, value]) => [`${each}`, `${value}`]))
      expect(record.key?.toString()).toBe('o')
      expect(headers).toMatchObject({
        ce_id: id,
        ce_type: topic,
        'content-type': 'application/json',
        tenant: 'a',
      })
      break
    }
  })

  it('are heard in the order of their keys where the rules ask for it: a key in retry holds up its followers', async () => {
    const topic = `plain-${randomUUID()}`
    const { name, seen, done } = await listen(kafkaUrl(brokers), topic, 'key')
    const producer = new Producer(common)
    const admin = new Admin(common)
    onTestFinished(async () => {
      await producer.close()
      const ours = (await admin.listTopics()).filter((each) => each.includes(name) || each === topic)
      await admin.deleteTopics({ topics: ours })
      await admin.close()
    })
    // as text, and as Java writes a number
    const keys = [Buffer.from('k'), Buffer.alloc(8, 0xff)]
    const messages = [1, 2, 3].flatMap((n) =>
      keys.map((key, of) => ({ topic, key, value: Buffer.from(JSON.stringify({ of, n })) })),
    )
    await producer.send({ acks: -1, messages } as never)
    await until('all of them', () => done().length === messages.length)
    // each is failed once, and nobody of its key runs before it is done
    const runs = Map.groupBy(
      seen.map(({ data }) => data as { of: number; n: number }),
      ({ of }) => of,
    )
    for (const of of [0, 1]) expect(runs.get(of)!.map(({ n }) => n)).toEqual([1, 1, 2, 2, 3, 3])
  })
})
