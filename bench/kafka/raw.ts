import { Admin, Consumer, Producer } from '@platformatic/kafka'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, FILL, freshName, newId, type Order, WINDOW } from '../load.ts'
import { publishing } from '../publishing.ts'

/** As ours makes its topics unless told otherwise. */
export const PARTITIONS = 3
/** As many as ours commits at once: it goes for more when half of its window is settled. */
export const COMMIT = WINDOW / 2

/** `cloudEvents`: the record that ours writes, attributes in headers; else the data alone. */
export interface Raw {
  readonly name: string
  readonly broker: string
  readonly cloudEvents: boolean
}

export const openTopic = async ({ broker, cloudEvents }: Raw) => {
  const common = { clientId: 'bench', bootstrapBrokers: [broker] }
  const topic = freshName()
  const admin = new Admin(common)
  await admin.createTopics({ topics: [topic], partitions: PARTITIONS, replicas: 1 })
  const producer = new Producer({ ...common, idempotent: true, retries: 3 })
  const publish = async (orders: readonly Order[]): Promise<void> => {
    const record = cloudEvents ? headed : bare
    await producer.send({ messages: orders.map((order) => record(topic, order)) })
  }
  const close = async (): Promise<void> => {
    await producer.close()
    await admin.deleteTopics({ topics: [topic] })
    await admin.close()
  }
  return { common, topic, publish, close }
}

export const ID = Buffer.from('ce_id')
export const TYPE = Buffer.from('ce_type')
const TIME = Buffer.from('ce_time')
const CONSTANT = ['ce_specversion', '1.0', 'ce_source', 'bench', 'content-type', 'application/json'].map(
  (text) => Buffer.from(text),
)

const bare = (topic: string, order: Order) => ({ topic, value: Buffer.from(JSON.stringify(order)) })

const headed = (topic: string, order: Order) => ({
  topic,
  value: Buffer.from(JSON.stringify(order)),
  headers: new Map(headersOf(topic)),
})

/** A CloudEvent's attributes, as ours writes them. */
export const headersOf = (topic: string): [Buffer, Buffer][] => [
  [CONSTANT[0]!, CONSTANT[1]!],
  [ID, Buffer.from(newId())],
  [CONSTANT[2]!, CONSTANT[3]!],
  [TYPE, Buffer.from(topic)],
  [TIME, Buffer.from(new Date().toISOString())],
  [CONSTANT[4]!, CONSTANT[5]!],
]

export const rawPublishing = (raw: Raw): Contender => publishing(raw.name, () => openTopic(raw))

export const rawConsuming = (raw: Raw): Contender => ({
  name: raw.name,
  prepare: async (events): Promise<Heat> => {
    const { common, topic, publish, close } = await openTopic(raw)
    for (const orders of batches(events, FILL)) await publish(orders)
    const { handle, tell, seen } = counter(events)
    const consumer = new Consumer({ ...common, groupId: topic, autocommit: false })
    return {
      run: async (lead) => {
        tell(lead)
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

export interface Fetched {
  readonly partition: number
  readonly offset: bigint
  readonly id: string
  readonly type: string
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
  const { id: topicId, partitions } = metadata.topics.get(topic)!
  const next = partitions.map(() => 0n)
  const fetch = async (): Promise<readonly Fetched[]> => {
    const answer = await consumer.fetch({
      node: partitions[0]!.leader,
      topics: [{ topicId, partitions: next.map(wantedFrom) }],
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
      for (const { partition, offset, id, type, value } of records.slice(from, from + COMMIT)) {
        if (offset < next[partition]!) continue
        if (type !== '' && (id === '' || type !== topic)) throw new Error(`event '${id}' of type '${type}'`)
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

export const wantedFrom = (fetchOffset: bigint, partition: number) => ({
  partition,
  fetchOffset,
  currentLeaderEpoch: -1,
  lastFetchedEpoch: -1,
  partitionMaxBytes: 1024 * 1024,
})

export const recordsOf = ({ partitionIndex, records }: Answered): readonly Fetched[] =>
  (records ?? []).flatMap((batch) =>
    batch.records.map(({ offsetDelta, headers, value }) => ({
      partition: partitionIndex,
      offset: batch.firstOffset + BigInt(offsetDelta),
      id: headerOf(headers, ID),
      type: headerOf(headers, TYPE),
      value,
    })),
  )

export type Headers = readonly (readonly [Buffer | null, Buffer | null])[]

export const headerOf = (headers: Headers, name: Buffer): string => {
  for (const [each, value] of headers) if (each?.equals(name)) return value?.toString() ?? ''
  return ''
}

export interface Answered {
  readonly partitionIndex: number
  readonly records?:
    | readonly {
        readonly firstOffset: bigint
        readonly records: readonly {
          readonly offsetDelta: number
          readonly headers: Headers
          readonly value: Buffer | null
        }[]
      }[]
    | null
}
