import { setTimeout as sleep } from 'node:timers/promises'
import { Admin, Consumer, Producer } from '@platformatic/kafka'
import { WAIT } from '../beside-broker.ts'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, FILL, type Order } from '../load.ts'
import {
  type Answered,
  COMMIT,
  type Headers,
  headerOf,
  ID,
  openTopic,
  PARTITIONS,
  type Raw,
  TYPE,
  wantedFrom,
} from './raw.ts'

const DUE = Buffer.from('due')

interface Failed {
  readonly topic: string
  readonly value: Buffer
  readonly headers: Map<Buffer, Buffer>
}

/**
 * The loop that everybody writes: what fails is produced to a topic where it waits, and the offset is committed then; one
 * consumer reads both topics, and holds what is not yet due.
 */
export const rawFailingOnce = (raw: Raw): Contender => ({
  name: raw.name,
  prepare: async (events): Promise<Heat> => {
    const { common, topic, publish, close } = await openTopic(raw)
    for (const orders of batches(events, FILL)) await publish(orders)
    const retry = `${topic}.retry`
    const admin = new Admin(common)
    await admin.createTopics({ topics: [retry], partitions: PARTITIONS, replicas: 1 })
    const producer = new Producer({ ...common, idempotent: true, retries: 3 })
    const consumer = new Consumer({ ...common, groupId: topic, autocommit: false })
    const { handle, seen } = counter(events)
    return {
      run: async () => {
        const send = (messages: readonly Failed[]) => producer.send({ messages: [...messages] })
        await consume(consumer, send, [topic, retry], events, handle)
        return { events: seen() }
      },
      close: async () => {
        await consumer.close(true)
        await producer.close()
        await admin.deleteTopics({ topics: [retry] })
        await admin.close()
        await close()
      },
    }
  },
})

interface Read {
  readonly place: Place
  readonly offset: bigint
  readonly headers: Headers
  readonly value: Buffer
}

interface Place {
  readonly topic: string
  readonly partition: number
  readonly leaderEpoch: number
  next: bigint
}

const consume = async (
  consumer: Consumer,
  send: (messages: readonly Failed[]) => Promise<unknown>,
  topics: readonly [string, string],
  events: number,
  handle: (order: Order) => Promise<void>,
): Promise<void> => {
  const [source, retry] = topics
  for (const topic of topics) consumer.topics.track(topic)
  await consumer.joinGroup({})
  const metadata = await consumer.metadata({ topics: [...topics] })
  const tables = topics.map((topic) => {
    const { id, partitions } = metadata.topics.get(topic)!
    const places = partitions.map(
      ({ leaderEpoch }, partition): Place => ({ topic, partition, leaderEpoch, next: 0n }),
    )
    return { id, places, node: partitions[0]!.leader }
  })
  const fetch = async (): Promise<readonly Read[]> => {
    const answer = await consumer.fetch({
      node: tables[0]!.node,
      topics: tables.map(({ id, places }) => ({
        topicId: id,
        partitions: places.map(({ next }, partition) => wantedFrom(next, partition)),
      })),
      maxWaitTime: 500,
      minBytes: 1,
      maxBytes: 8 * 1024 * 1024,
    })
    const reads = answer.responses.flatMap((each) => {
      const { places } = tables.find(({ id }) => id === each.topicId)!
      return each.partitions.flatMap((one: Answered) => readsOf(one, places[one.partitionIndex]!))
    })
    // whichever topic the broker answers for first: fresh ones go before those that may not be due yet
    return [...reads.filter(({ place }) => place.topic === source), ...reads.filter(isRetry)]
  }
  const isRetry = ({ place }: Read): boolean => place.topic === retry
  /** An error is made and caught, as it would be. */
  const attempt = async ({ place, headers, value }: Read): Promise<Failed | undefined> => {
    if (headerOf(headers, ID) === '' || headerOf(headers, TYPE) !== source) throw new Error('another event')
    const order: Order = JSON.parse(value.toString())
    try {
      await null
      if (place.topic === source) throw new Error('the first attempt fails')
      await handle(order)
      return undefined
    } catch {
      const known = new Map(headers.map(([name, text]) => [name!, text!]))
      return { topic: retry, value, headers: known.set(DUE, Buffer.from(String(Date.now() + WAIT))) }
    }
  }
  for (let handled = 0; handled < events; ) {
    const fetched = await fetch()
    const reads = fetched.filter(({ place, offset }) => offset >= place.next)
    for (let from = 0; from < reads.length; from += COMMIT) {
      const touched = new Set<Place>()
      const failed: Failed[] = []
      for (const read of reads.slice(from, from + COMMIT)) {
        const early = Number(headerOf(read.headers, DUE) || 0) - Date.now()
        if (early > 0) await sleep(early)
        const again = await attempt(read)
        if (again) failed.push(again)
        else handled++
        read.place.next = read.offset + 1n
        touched.add(read.place)
      }
      if (failed.length > 0) await send(failed)
      await consumer.commit({
        offsets: [...touched].map(({ topic, partition, next, leaderEpoch }) => ({
          topic,
          partition,
          offset: next,
          leaderEpoch,
        })),
      })
    }
  }
}

const readsOf = ({ records }: Answered, place: Place): readonly Read[] =>
  (records ?? []).flatMap((batch) =>
    batch.records.map(({ offsetDelta, headers, value }) => ({
      place,
      offset: batch.firstOffset + BigInt(offsetDelta),
      headers,
      value: value!,
    })),
  )
