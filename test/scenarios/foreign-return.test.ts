import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Admin, Producer } from '@platformatic/kafka'
import { type Channel, connect } from 'amqplib'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { type Reprieve, reprieve } from '../../src/index.ts'
import { readRules } from '../../src/rules/index.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'reprieve-return-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fresh = (what: string): string => `return-${what}-${randomUUID().slice(0, 13)}`

const officeAt = async (transport: string, dead: string, count: number): Promise<Reprieve> => {
  const rules = readRules(JSON.stringify({ version: 1, foreign: { [dead]: {} } }), 'test.yaml', {})
  const app = await reprieve({ transport, store: `sqlite:${join(folder, fresh('db'))}`, rules })
  onTestFinished(() => app.close())
  await app.start()
  await until(`${count} letters`, async () => (await app.office.count({})) === count)
  return app
}

/** All of them in one operation, to its end: how many went which way, and why not. */
const replayAll = async ({ office: { operations } }: Reprieve) => {
  const { operation } = await operations.plan({})
  await operations.start(operation.id)
  const { counts } = await until('its end', async () => {
    const kept = await operations.show(operation.id)
    return kept.operation.state === 'done' ? kept : undefined
  })
  const items = await operations.items(operation.id, { states: ['failed'] })
  return { counts, because: new Set(items.map((each) => each.because)) }
}

describeWith('amqp', 'foreign letters of several origins, some of which are gone', (url) => {
  /** Messages that died in a queue behind an exchange of its own. */
  const died = async (channel: Channel, dead: string, count: number) => {
    const exchange = fresh('exchange')
    const work = fresh('work')
    await channel.assertExchange(exchange, 'topic', { durable: true })
    await channel.assertQueue(work, { deadLetterExchange: '', deadLetterRoutingKey: dead })
    await channel.bindQueue(work, exchange, '#')
    for (let n = 0; n < count; n++) channel.publish(exchange, `order.${n}`, Buffer.from(`{"n":${n}}`))
    for (let n = 0; n < count; n++) {
      const message = await until('a message', async () => (await channel.get(work)) || undefined)
      channel.nack(message, false, false)
    }
    onTestFinished(async () => {
      await channel.deleteQueue(work)
      await channel.deleteExchange(exchange)
    })
    return { exchange, work }
  }

  it('go back where somebody takes them, once, and only the others fail; who publishes meanwhile notices nothing', async () => {
    const connection = await connect(url)
    onTestFinished(() => connection.close())
    const channel = await connection.createChannel()
    const dead = fresh('dead')
    await channel.assertQueue(dead)
    onTestFinished(async () => void (await channel.deleteQueue(dead)))
    const there = await died(channel, dead, 30)
    const retired = await died(channel, dead, 3)
    const gone = await died(channel, dead, 4)
    await channel.deleteQueue(retired.work)
    await channel.deleteExchange(gone.exchange)

    const app = await officeAt(url, dead, 37)
    const audience = await channel.assertQueue('', { exclusive: true })
    await channel.bindQueue(audience.queue, 'reprieve.events', audience.queue)
    let over = false
    const publishing = async () => {
      for (let n = 0; !over; n++) await app.publish(audience.queue, { n })
    }
    const meanwhile = publishing()
    const { counts, because } = await replayAll(app)
    over = true
    await meanwhile
    expect(counts).toMatchObject({ resolved: 30, failed: 7, waiting: 0, sending: 0 })
    expect([...because]).toEqual(['unheard'])
    expect((await channel.checkQueue(there.work)).messageCount).toBe(30)
    expect(await app.office.count({ states: ['open'] })).toBe(7)
  })
})

describeWith('kafka', 'foreign records of several topics, some of which are gone', (brokers) => {
  it('go back to those that are there, once, and only the others fail', async () => {
    const common = { clientId: 'return', bootstrapBrokers: brokers.split(','), timeout: 30_000 }
    const admin = new Admin(common)
    const producer = new Producer(common)
    const source = fresh('orders')
    const dead = `${source}.DLT`
    const gone = fresh('gone')
    await admin.createTopics({ topics: [source, dead], partitions: 1, replicas: 1 })
    onTestFinished(async () => {
      await producer.close()
      await admin.deleteTopics({ topics: [source, dead] })
      await admin.close()
    })
    const record = (from: string, offset: number) => {
      const at = Buffer.alloc(8)
      at.writeBigInt64BE(BigInt(offset))
      const headers = new Map([
        [Buffer.from('kafka_dlt-original-topic'), Buffer.from(from)],
        [Buffer.from('kafka_dlt-original-partition'), Buffer.alloc(4)],
        [Buffer.from('kafka_dlt-original-offset'), at],
      ])
      return { topic: dead, value: Buffer.from('{}'), headers }
    }
    const messages = Array.from({ length: 9 }, (_, n) => record(n % 3 === 0 ? gone : source, n))
    await producer.send({ messages, acks: -1 })

    const { counts, because } = await replayAll(await officeAt(kafkaUrl(brokers), dead, 9))
    expect(counts).toMatchObject({ resolved: 6, failed: 3, waiting: 0, sending: 0 })
    expect([...because]).toEqual(['unknown destination'])
    const [{ partitions }] = (await admin.listOffsets({
      topics: [{ name: source, partitions: [{ partitionIndex: 0, timestamp: -1n }] }],
    })) as unknown as [{ partitions: readonly { offset: bigint }[] }]
    expect(partitions[0]!.offset).toBe(6n)
  })
})
