import { setTimeout as sleep } from 'node:timers/promises'
import { type IHeaders, Kafka, logLevel, Partitioners, type Producer } from 'kafkajs'
import { WAIT } from '../beside-broker.ts'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, FILL, type Order } from '../load.ts'
import { publishing } from '../publishing.ts'
import { COMMIT, headersOf, openTopic, PARTITIONS, type Raw } from './raw.ts'

/** Not idempotent: with that it loses acknowledged records. */
const makeProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })

const clientOf = ({ broker }: Omit<Raw, 'name'>): Kafka =>
  new Kafka({ clientId: 'bench', brokers: broker.split(','), logLevel: logLevel.NOTHING })

/** A batch in one send, with acks from all. */
export const kafkajsPublishing = (raw: Omit<Raw, 'name'>): Contender =>
  publishing('kafkajs', async () => {
    const { topic, close } = await openTopic({ ...raw, name: 'kafkajs' })
    const producer = makeProducer(clientOf(raw))
    await producer.connect()
    return {
      publish: async (orders) => {
        const messages = orders.map((order) => ({
          value: Buffer.from(JSON.stringify(order)),
          headers: Object.fromEntries(headersOf(topic).map(([name, value]) => [String(name), value])),
        }))
        await producer.send({ topic, acks: -1, messages })
      },
      close: async () => {
        await producer.disconnect()
        await close()
      },
    }
  })

/**
 * kafkajs, by its own loop over batches, which commits as often as ours. It has no retries that outlive the process: what
 * fails is produced to a retry topic by hand, as everybody does it, and the same consumer reads that too.
 */
export const kafkajsConsuming = (raw: Omit<Raw, 'name'>, failsOnce = false): Contender => ({
  name: failsOnce ? 'kafkajs, a retry topic by hand' : 'kafkajs',
  prepare: async (events): Promise<Heat> => {
    const { topic, publish, close } = await openTopic({ ...raw, name: 'kafkajs' })
    for (const orders of batches(events, FILL)) await publish(orders)
    const retry = `${topic}.retry`
    const topics = failsOnce ? [topic, retry] : [topic]
    const kafka = clientOf(raw)
    const admin = kafka.admin()
    await admin.connect()
    if (failsOnce) await admin.createTopics({ topics: [{ topic: retry, numPartitions: PARTITIONS }] })
    const producer = makeProducer(kafka)
    if (failsOnce) await producer.connect()
    const consumer = kafka.consumer({ groupId: topic })
    const { handle, tell, seen } = counter(events)
    // now and then it begins a batch again: at least once is all that it promises
    const known = new Uint8Array(events)
    const attempt = async (order: Order, first: boolean): Promise<void> => {
      await null
      if (failsOnce && first) throw new Error('the first attempt fails')
      if (known[order.number] === 1) return
      known[order.number] = 1
      await handle(order)
    }
    return {
      run: async (lead) => {
        tell(lead)
        const last = Promise.withResolvers<void>()
        await consumer.connect()
        await consumer.subscribe({ topics, fromBeginning: true })
        await consumer.run({
          eachBatchAutoResolve: false,
          autoCommit: false,
          eachBatch: async ({ batch, resolveOffset }) => {
            for (let from = 0; from < batch.messages.length; from += COMMIT) {
              const chunk = batch.messages.slice(from, from + COMMIT)
              const failed: { value: Buffer; headers: IHeaders }[] = []
              for (const { value, headers = {} } of chunk) {
                const early = Number(headers.due ?? 0) - Date.now()
                if (early > 0) await sleep(early)
                try {
                  await attempt(JSON.parse(value!.toString()), headers.due === undefined)
                } catch {
                  failed.push({ value: value!, headers: { ...headers, due: String(Date.now() + WAIT) } })
                }
              }
              if (failed.length > 0) await producer.send({ topic: retry, acks: -1, messages: failed })
              const offset = String(BigInt(chunk.at(-1)!.offset) + 1n)
              await consumer.commitOffsets([{ topic: batch.topic, partition: batch.partition, offset }])
              resolveOffset(chunk.at(-1)!.offset)
            }
            if (seen() === events) last.resolve()
          },
        })
        consumer.on('consumer.crash', ({ payload }) => last.reject(payload.error))
        await last.promise
        return { events: seen() }
      },
      close: async () => {
        await consumer.disconnect()
        if (failsOnce) {
          await producer.disconnect()
          await admin.deleteTopics({ topics: [retry] })
        }
        await admin.disconnect()
        await close()
      },
    }
  },
})
