import { setTimeout as sleep } from 'node:timers/promises'
import { type IHeaders, Kafka, logLevel, Partitioners } from 'kafkajs'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, FILL, type Order } from '../load.ts'
import { WAIT } from './failing.ts'
import { COMMIT, openTopic, PARTITIONS, type Raw } from './raw.ts'

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
    const kafka = new Kafka({ clientId: 'bench', brokers: raw.broker.split(','), logLevel: logLevel.NOTHING })
    const admin = kafka.admin()
    await admin.connect()
    if (failsOnce) await admin.createTopics({ topics: [{ topic: retry, numPartitions: PARTITIONS }] })
    // not idempotent: with that it loses acknowledged records
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
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
