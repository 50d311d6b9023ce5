import { Admin, Consumer, Producer } from '@platformatic/kafka'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, freshName, type Order, WINDOW } from '../load.ts'

/** As ours makes its topics unless told otherwise. */
const PARTITIONS = 3
/** As many as ours commits at once: it goes for more when half of its window is settled. */
const COMMIT = WINDOW / 2

const openTopic = async (broker: string) => {
  const common = { clientId: 'bench', bootstrapBrokers: [broker] }
  const topic = freshName()
  const admin = new Admin(common)
  await admin.createTopics({ topics: [topic], partitions: PARTITIONS, replicas: 1 })
  const producer = new Producer({ ...common, idempotent: true, retries: 3 })
  const publish = async (orders: readonly Order[]): Promise<void> => {
    const messages = orders.map((order) => ({ topic, value: Buffer.from(JSON.stringify(order)) }))
    await producer.send({ messages })
  }
  const close = async (): Promise<void> => {
    await producer.close()
    await admin.deleteTopics({ topics: [topic] })
    await admin.close()
  }
  return { common, topic, publish, close }
}

export const rawPublishing = (broker: string): Contender => ({
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const { publish, close } = await openTopic(broker)
    const load = [...batches(events)]
    return {
      run: async () => {
        let published = 0
        for (const orders of load) {
          await publish(orders)
          published += orders.length
        }
        return { events: published }
      },
      close,
    }
  },
})

export const rawConsuming = (broker: string): Contender => ({
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const { common, topic, publish, close } = await openTopic(broker)
    for (const orders of batches(events)) await publish(orders)
    const { handle, seen } = counter(events)
    const consumer = new Consumer({ ...common, groupId: topic, autocommit: false })
    return {
      run: async () => {
        await consume(consumer, topic, events, handle)
        return { events: seen() }
      },
      close: async () => {
        await consumer.close(true)
        await close()
      },
    }
  },
})

interface Fetched {
  readonly partition: number
  readonly offset: bigint
  readonly value: Buffer | null
}

/** Joins its group, then fetches, handles and commits, one after the other. */
const consume = async (
  consumer: Consumer,
  topic: string,
  events: number,
  handle: (order: Order) => Promise<void>,
): Promise<void> => {
  consumer.topics.track(topic)
  await consumer.joinGroup({})
  const metadata = await consumer.metadata({ topics: [topic] })
  const { id, partitions } = metadata.topics.get(topic)!
  const next = partitions.map(() => 0n)
  const fetch = async (): Promise<readonly Fetched[]> => {
    const answer = await consumer.fetch({
      node: partitions[0]!.leader,
      topics: [{ topicId: id, partitions: next.map(wantedFrom) }],
      maxWaitTime: 500,
      minBytes: 1,
      maxBytes: 8 * 1024 * 1024,
    })
    return answer.responses.flatMap((each) => each.partitions).flatMap(recordsOf)
  }
  for (let handled = 0; handled < events; ) {
    const records = await fetch()
    for (let from = 0; from < records.length; from += COMMIT) {
      const touched = new Set<number>()
      for (const { partition, offset, value } of records.slice(from, from + COMMIT)) {
        if (offset < next[partition]!) continue
        await handle(JSON.parse(value!.toString()))
        next[partition] = offset + 1n
        touched.add(partition)
        handled++
      }
      const offsets = [...touched].map((partition) => ({
        topic,
        partition,
        offset: next[partition]!,
        leaderEpoch: partitions[partition]!.leaderEpoch,
      }))
      await consumer.commit({ offsets })
    }
  }
}

const wantedFrom = (fetchOffset: bigint, partition: number) => ({
  partition,
  fetchOffset,
  currentLeaderEpoch: -1,
  lastFetchedEpoch: -1,
  partitionMaxBytes: 1024 * 1024,
})

const recordsOf = ({ partitionIndex, records }: Answered): readonly Fetched[] =>
  (records ?? []).flatMap((batch) =>
    batch.records.map(({ offsetDelta, value }) => ({
      partition: partitionIndex,
      offset: batch.firstOffset + BigInt(offsetDelta),
      value,
    })),
  )

interface Answered {
  readonly partitionIndex: number
  readonly records?:
    | readonly {
        readonly firstOffset: bigint
        readonly records: readonly { readonly offsetDelta: number; readonly value: Buffer | null }[]
      }[]
    | null
}
