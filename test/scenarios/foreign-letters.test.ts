import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Admin, Consumer, Producer } from '@platformatic/kafka'
import { type ConfirmChannel, connect, type GetMessage } from 'amqplib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/adapters/system/clock.ts'
import { systemDice } from '../../src/adapters/system/dice.ts'
import type { Destination, Settlement } from '../../src/contracts/transport.ts'
import { type Reprieve, reprieve } from '../../src/index.ts'
import { openIntake } from '../../src/office/ingest.ts'
import { openAppStore, openTransport } from '../../src/open.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-foreign-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fresh = (what: string): string => `foreign-${what}-${randomUUID().slice(0, 13)}`

/** An office that was told of someone else's queue or topic, and runs no service of its own. */
const officeAt = async (transport: string, foreign: object, store = fresh('db')): Promise<Reprieve> => {
  const rules = readRules(JSON.stringify({ version: 1, foreign }), 'test.yaml', {})
  const app = await reprieve({ transport, store: `sqlite:${join(folder, store)}`, rules })
  await app.start()
  return app
}

const lettersOf = (app: Reprieve, count: number) =>
  until(`${count} letters`, async () => {
    const all = await app.office.list({}, 100)
    return all.length >= count ? all : undefined
  })

const oneOf = async (app: Reprieve) => (await lettersOf(app, 1))[0]!

/** Whoever consumed this topic before is a service of ours now. */
const takenOver = (destination: string, service: string, topic: string) =>
  readRules(
    JSON.stringify({ version: 1, foreign: { [destination]: { service, topic, replay: 'service' } } }),
    'test.yaml',
    {},
  )

describeWith('amqp', 'dead letters that RabbitMQ itself moved', (url) => {
  const exchange = fresh('orders')
  const work = fresh('work')
  const dead = fresh('dead')
  let channel: ConfirmChannel
  let close: () => Promise<void>

  beforeAll(async () => {
    const connection = await connect(url)
    channel = await connection.createConfirmChannel()
    await channel.assertExchange(exchange, 'topic', { durable: true })
    // as anybody has it who never heard of Reprieve: classic queues, the default exchange as dead-letter exchange
    await channel.assertQueue(dead, { durable: true })
    await channel.assertQueue(work, {
      durable: true,
      deadLetterExchange: '',
      deadLetterRoutingKey: dead,
    })
    await channel.bindQueue(work, exchange, 'order.#')
    close = async () => {
      for (const queue of [work, dead]) await channel.deleteQueue(queue)
      await channel.deleteExchange(exchange)
      await connection.close()
    }
  })
  afterAll(() => close())

  const publish = async (body: Buffer | string, options: object = {}) => {
    channel.publish(exchange, 'order.placed', Buffer.from(body), options)
    await channel.waitForConfirms()
  }
  const next = (queue: string): Promise<GetMessage> =>
    until(`a message in ${queue}`, async () => (await channel.get(queue)) as GetMessage | undefined)
  const rejectNext = async () => channel.nack(await next(work), false, false)

  it('are kept with what their x-death tells, and go back to exchange and key just as they were', async () => {
    const headers = { tenant: 'a', tries: 3, nested: { deep: [true, 'x'] } }
    await publish('{"order":1}', {
      messageId: 'm-1',
      correlationId: 'c-1',
      contentType: 'application/json',
      type: 'OrderPlaced',
      headers,
    })
    await rejectNext()
    await using app = await officeAt(url, { [dead]: { service: 'billing' } })
    const { letter, state } = await oneOf(app)
    expect(state).toBe('open')
    expect(letter).toMatchObject({
      destination: dead,
      service: 'billing',
      topic: work,
      reason: 'found',
      code: 'rejected',
      error: `a consumer of '${work}' rejected it`,
      category: 'unknown',
      event: { id: 'm-1', type: 'order.placed', extensions: { correlationid: 'c-1' } },
      trail: { spent: 1, generation: 0 },
      origin: { to: `the exchange '${exchange}' with the key 'order.placed'` },
    })
    expect(Buffer.from(letter.event.data!).toString()).toBe('{"order":1}')
    expect(Date.now() - letter.buriedAt).toBeLessThan(60_000)

    expect(await app.office.replay({ ids: [letter.id] })).toEqual({ sent: [letter.id], skipped: [] })
    expect((await app.office.show(letter.id)).state).toBe('resolved')
    const back = await next(work)
    expect(back.fields).toMatchObject({ exchange, routingKey: 'order.placed' })
    expect(back.content.toString()).toBe('{"order":1}')
    expect(back.properties).toMatchObject({
      messageId: 'm-1',
      correlationId: 'c-1',
      contentType: 'application/json',
      type: 'OrderPlaced',
    })
    expect(back.properties.headers).toMatchObject({
      ...headers,
      'x-replayed': 'true',
      'x-original-id': 'm-1',
    })
    expect(back.properties.headers).not.toHaveProperty('x-death')

    // it dies again: another letter, which knows the first
    channel.nack(back, false, false)
    // the broker counts in seconds: both may have died at the same moment
    const again = (await lettersOf(app, 2)).find((each) => each.letter.id !== letter.id)
    expect(again!.letter).toMatchObject({
      event: { id: 'm-1' },
      trail: { generation: 1, replay: { letter: letter.id } },
    })
    await until('the first to be told', async () => (await app.office.show(letter.id)).state === 'dead again')
    await app.office.discard([again!.letter.id])
  })

  it('are the same letter when an office dies between keeping and acknowledging them', async () => {
    await publish('{"order":2}', { messageId: 'm-2' })
    await publish('{"order":"without an id"}')
    for (const _ of [1, 2]) await rejectNext()
    const store = fresh('db')
    const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
    const { transport } = await openTransport(url, tools)
    const opened = await openAppStore(`sqlite:${join(folder, store)}`, tools)
    // what it takes is kept, and never acknowledged
    const dying = {
      ...transport,
      collect: async (from: Destination) => ({
        ...(await transport.collect(from)),
        settle: async (batch: readonly Settlement[]) => batch.map(() => 'lost' as const),
      }),
    }
    const first = await openIntake(dying, { name: dead, foreign: true }, opened.letters, tools, {
      replay: 'origin',
    })
    const stop = new AbortController()
    const running = first.run(stop.signal)
    await until('both', async () => (await opened.letters.count({})) === 2)
    stop.abort()
    await running
    await first.close()
    await transport.close()
    await opened.companion?.close()
    await opened.close()

    await using second = await officeAt(url, { [dead]: {} }, store)
    await until('an empty queue', async () => (await channel.checkQueue(dead)).messageCount === 0)
    await publish('{"order":"a third"}')
    await rejectNext()
    await lettersOf(second, 3)
    expect(await second.office.count({})).toBe(3)
    await second.close()
    expect((await channel.checkQueue(dead)).messageCount).toBe(0)
  })

  it('without ids and alike to the last byte are all kept, text, JSON and bytes alike', async () => {
    const bodies = ['plain text', 'plain text', 'plain text', Buffer.from([0xff, 0x00, 0xfe])]
    for (const body of bodies) await publish(body)
    for (const _ of bodies) await rejectNext()
    await using app = await officeAt(url, { [dead]: {} })
    const kept = await lettersOf(app, 4)
    expect(new Set(kept.map(({ letter }) => letter.id)).size).toBe(4)
    expect(kept.map(({ letter }) => Buffer.from(letter.event.data!).toString('latin1')).toSorted()).toEqual(
      bodies.map((body) => Buffer.from(body).toString('latin1')).toSorted(),
    )
    // one cause, one group
    expect(new Set(kept.map(({ letter }) => letter.fingerprint)).size).toBe(1)
  })

  it('without ids and alike to the last byte are all kept, though another had them in hand before and died', async () => {
    const bodies = ['twins', 'twins', 'twins']
    for (const body of bodies) await publish(body)
    for (const _ of bodies) await rejectNext()
    const inHand: GetMessage[] = []
    for (const _ of bodies) inHand.push(await next(dead))
    for (const each of inHand) channel.nack(each, false, true)
    await using app = await officeAt(url, { [dead]: {} })
    const kept = await lettersOf(app, 3)
    expect(new Set(kept.map(({ letter }) => letter.id)).size).toBe(3)
  })

  it('go straight to the queue that they died in where the rules say so', async () => {
    await publish('{"order":3}')
    await rejectNext()
    await using app = await officeAt(url, { [dead]: { replay: 'queue' } })
    const { letter } = await oneOf(app)
    await app.office.replay({ ids: [letter.id] })
    const back = await next(work)
    expect(back.fields).toMatchObject({ exchange: '', routingKey: work })
    channel.ack(back)
  })

  /** Replays the one letter there is to the service that took the consumer over; answers with it and what was handled. */
  const replayToService = async () => {
    const service = fresh('shop')
    const rules = takenOver(dead, service, 'order.placed')
    await using app = await reprieve({ transport: url, store: `sqlite:${join(folder, fresh('db'))}`, rules })
    const seen: unknown[] = []
    app.service(service).on('order.placed', ({ id, data }) => void seen.push([id, data]))
    await app.start()
    const { letter } = await oneOf(app)
    expect(letter).toMatchObject({ service, topic: 'order.placed' })
    expect((await app.office.replay({ ids: [letter.id] })).sent).toEqual([letter.id])
    await until('the receipt', async () => (await app.office.show(letter.id)).state === 'resolved')
    for (const queue of [`${service}.order.placed`, ...app.destinations().map(({ name }) => name)])
      await channel.deleteQueue(queue)
    await channel.deleteExchange(`${service}.order.placed.dlx`)
    return { letter, seen }
  }

  it('go to a service of ours where the rules say so: to whoever took the consumer over', async () => {
    await publish('{"order":4}', { messageId: 'm-4', contentType: 'application/json' })
    await rejectNext()
    const { seen } = await replayToService()
    expect(seen).toEqual([['m-4', { order: 4 }]])
  })

  it('without a word of where they were are of the topic that the rules name: its handler takes them', async () => {
    channel.sendToQueue(dead, Buffer.from('{"order":5}'), { messageId: 'm-5' })
    await channel.waitForConfirms()
    const { letter, seen } = await replayToService()
    expect(letter.event.type).toBe('order.placed')
    expect(seen).toEqual([['m-5', { order: 5 }]])
  })

  it('may lie in a queue that is made only later, and is never made by us', async () => {
    const late = fresh('late')
    await using app = await officeAt(url, { [late]: {} })
    await systemClock.sleep(300)
    const connection = await connect(url)
    const spare = await connection.createChannel()
    spare.on('error', () => {})
    await expect(spare.checkQueue(late)).rejects.toThrow('NOT_FOUND')
    await channel.assertQueue(late, { durable: true })
    channel.sendToQueue(late, Buffer.from('at last'))
    expect((await oneOf(app)).letter.destination).toBe(late)
    await connection.close()
    await channel.deleteQueue(late)
  })

  it('stay where nothing tells their way back, and say why', async () => {
    channel.sendToQueue(dead, Buffer.from('who sent this?'))
    await channel.waitForConfirms()
    await using app = await officeAt(url, { [dead]: {} })
    const { letter } = await oneOf(app)
    const { sent, skipped } = await app.office.replay({ ids: [letter.id] })
    expect(sent).toEqual([])
    expect(skipped[0]?.because).toContain('nothing in it tells where it came from')
    expect((await app.office.show(letter.id)).state).toBe('open')
  })
})

describeWith('kafka', 'dead letters that others wrote to a topic', (brokers) => {
  const common = { clientId: 'foreign', bootstrapBrokers: brokers.split(','), timeout: 30_000 }
  const source = fresh('orders')
  const dlt = `${source}.DLT`
  const admin = new Admin(common)
  const producer = new Producer(common)

  beforeAll(async () => {
    await admin.createTopics({ topics: [source, dlt], partitions: 1, replicas: 1 })
  })
  afterAll(async () => {
    await producer.close()
    await admin.deleteTopics({ topics: [source, dlt] })
    await admin.close()
  })

  const int = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(value)
    return bytes
  }
  const long = (value: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(BigInt(value))
    return bytes
  }

  it("are kept with what Spring's headers tell, and go back to their topic with key and headers", async () => {
    const headers: [string, Buffer][] = [
      ['trace', Buffer.from('t-1')],
      ['kafka_dlt-original-topic', Buffer.from(source)],
      ['kafka_dlt-original-partition', int(0)],
      ['kafka_dlt-original-offset', long(41)],
      ['kafka_dlt-original-timestamp', long(1_700_000_000_000)],
      ['kafka_dlt-original-timestamp-type', Buffer.from('CreateTime')],
      ['kafka_dlt-original-consumer-group', Buffer.from('shipping')],
      [
        'kafka_dlt-exception-fqcn',
        Buffer.from('org.springframework.kafka.listener.ListenerExecutionFailedException'),
      ],
      ['kafka_dlt-exception-cause-fqcn', Buffer.from('java.net.SocketTimeoutException')],
      ['kafka_dlt-exception-message', Buffer.from('Read timed out; order 41')],
      ['kafka_dlt-exception-stacktrace', Buffer.from('org.springframework…\n\tat a.B.c(B.java:1)')],
    ]
    const raw = Buffer.from([1, 2, 3, 0xff])
    const message = { topic: dlt, key: Buffer.from('k-1'), value: raw }
    await producer.send({
      messages: [
        { ...message, headers: new Map(headers.map(([name, value]) => [Buffer.from(name), value])) },
        { topic: dlt, value: Buffer.from('a plain record') },
      ],
      acks: -1,
    })
    await using app = await officeAt(kafkaUrl(brokers), { [dlt]: {} })
    const kept = await lettersOf(app, 2)
    const { letter } = kept.find((each) => each.letter.topic === source)!
    expect(letter).toMatchObject({
      destination: dlt,
      service: 'shipping',
      consumerGroup: 'shipping',
      category: 'transient',
      kind: 'timeout',
      error: 'Read timed out; order 41',
      reason: 'found',
      event: { id: `kafka:${source}/0/41`, type: source, headers: { trace: 't-1' } },
    })
    expect(letter.stack).toContain('B.java')
    expect(Buffer.from(letter.event.data!)).toEqual(raw)

    const { sent, skipped } = await app.office.replay({ ids: kept.map((each) => each.letter.id) })
    expect(sent).toEqual([letter.id])
    expect(skipped).toHaveLength(1)
    expect(skipped[0]!.because).toContain('nothing in it tells where it came from')

    const consumer = new Consumer({ ...common, groupId: fresh('reader'), autocommit: false })
    const stream = await consumer.consume({ topics: [source], mode: 'earliest' })
    for await (const record of stream) {
      expect(record.key).toEqual(Buffer.from('k-1'))
      expect(record.value).toEqual(raw)
      const names = [...record.headers.keys()].map(String)
      expect(names).toEqual(expect.arrayContaining(['trace', 'x-replayed', 'x-original-id']))
      expect(names.some((name) => name.startsWith('kafka_dlt-'))).toBe(false)
      break
    }
    await consumer.close(true)
  })

  it('without a word of where they were are of the topic that the rules name', async () => {
    const bare = `${source}.bare`
    await admin.createTopics({ topics: [bare], partitions: 1, replicas: 1 })
    const record = { topic: bare, key: Buffer.from('o-1'), value: Buffer.from('{"order":1}') }
    await producer.send({ acks: -1, messages: [record] as never })
    await using app = await officeAt(kafkaUrl(brokers), {
      [bare]: { service: 'shop', topic: source, replay: 'service' },
    })
    const { letter } = await oneOf(app)
    expect(letter).toMatchObject({ topic: source, event: { type: source, id: `kafka:${bare}/0/0` } })
    await admin.deleteTopics({ topics: [bare] })
  })

  it('of Kafka Connect and of retry topics are told by their own headers, and made-up ones do no harm', async () => {
    const other = `${source}.others`
    await admin.createTopics({ topics: [other], partitions: 1, replicas: 1 })
    const record = (headers: Record<string, string | Buffer>, value: Buffer | undefined) => ({
      topic: other,
      value,
      headers: new Map(Object.entries(headers).map(([name, each]) => [Buffer.from(name), Buffer.from(each)])),
    })
    await producer.send({
      acks: -1,
      messages: [
        record(
          {
            '__connect.errors.topic': source,
            '__connect.errors.partition': '0',
            '__connect.errors.offset': '7',
            '__connect.errors.connector.name': 'sink',
            '__connect.errors.exception.class.name': 'org.apache.kafka.connect.errors.DataException',
            '__connect.errors.exception.message': 'no such field',
          },
          Buffer.from('{"n":1}'),
        ),
        record(
          {
            'kafka_original-topic': source,
            'kafka_original-partition': int(0),
            'kafka_original-offset': long(8),
            'kafka_exception-fqcn': 'com.fasterxml.jackson.core.JsonParseException',
            'kafka_exception-message': 'Unexpected character',
            'retry_topic-attempts': int(4),
          },
          undefined,
        ),
        record(
          {
            'kafka_dlt-original-topic': '',
            'reprieve-trail': '{',
            'reprieve-due': '9999999999999',
            'x-replayed-letter': 'x',
          },
          Buffer.from([0xff]),
        ),
      ] as never,
    })
    await using app = await officeAt(kafkaUrl(brokers), { [other]: {} })
    const kept = (await lettersOf(app, 3)).map(({ letter }) => letter)
    expect(kept.find(({ service }) => service === 'connect-sink')).toMatchObject({
      topic: source,
      error: 'no such field',
      event: { id: `kafka:${source}/0/7` },
      origin: { to: `the topic '${source}'` },
    })
    expect(kept.find(({ kind }) => kind === 'schema')).toMatchObject({
      topic: source,
      category: 'permanent',
      trail: { spent: 4 },
      event: { id: `kafka:${source}/0/8`, data: null },
    })
    expect(kept.filter(({ origin }) => origin && 'nowhere' in origin)).toHaveLength(1)
    await admin.deleteTopics({ topics: [other] })
  })
})
