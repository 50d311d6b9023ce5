import { randomUUID } from 'node:crypto'
import { Admin as LogAdmin } from '@platformatic/kafka'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { systemClock } from '../../../src/adapters/system/clock.ts'

export interface Census {
  /** The events that letters in the destinations are about. */
  readonly dead: readonly string[]
  /** Records past the commit of the consumer group, in the source and its retry topics. */
  readonly uncommitted: number
}

const PATIENCE = 30_000

/**
 * What lies on the brokers, by a client that we use for nothing else: our own would share our errors. It looks for delayed
 * requests every millisecond while it is connected, of which Node warns once (TimeoutNegativeWarning); nothing else comes of it.
 */
export const census = async (brokers: readonly string[], service: string, topic: string): Promise<Census> => {
  for (let tries = 1; ; tries++) {
    try {
      return await lookOnce(brokers, service, topic)
    } catch (error) {
      // a broker that was killed may not know yet whose coordinator it is, and this client does not ask again
      if (tries === 5) throw error
      await systemClock.sleep(500)
    }
  }
}

const lookOnce = async (brokers: readonly string[], service: string, topic: string): Promise<Census> => {
  const kafka = new Kafka({ clientId: 'census', brokers: [...brokers], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  try {
    await admin.connect()
    const topics = await admin.listTopics()
    const graves = topics.filter((name) => name.includes(service) && !name.includes('.retry.'))
    const waits = topics.filter((name) => name.startsWith(`${service}.retry.`))
    const dead = await originalsIn(kafka, await endsOf(admin, graves))
    const read = [topic, ...waits]
    const uncommitted = await uncommittedIn(admin, service, read, await logEnds(brokers, read))
    return { dead, uncommitted }
  } finally {
    await admin.disconnect()
  }
}

type Ends = ReadonlyMap<string, ReadonlyMap<number, number>>

/** As far as readers of what is committed get. */
const endsOf = async (admin: Admin, topics: readonly string[]): Promise<Ends> => {
  const ends = new Map<string, ReadonlyMap<number, number>>()
  for (const topic of topics) {
    const found = await admin.fetchTopicOffsets(topic)
    ends.set(topic, new Map(found.map(({ partition, high }) => [partition, Number(high)])))
  }
  return ends
}

/** Where the logs really end, behind transactions that hang too; kafkajs can not tell. */
const logEnds = async (brokers: readonly string[], topics: readonly string[]): Promise<Ends> => {
  const admin = new LogAdmin({ clientId: 'census', bootstrapBrokers: [...brokers], retries: 5 })
  try {
    const metadata = await admin.metadata({ topics: [...topics] })
    const asked = [...metadata.topics].map(([name, { partitions }]) => ({
      name,
      partitions: partitions.map((_, partitionIndex) => ({ partitionIndex, timestamp: -1n })),
    }))
    const found = await admin.listOffsets({ topics: asked })
    return new Map(
      found.map(({ name, partitions }) => [
        name,
        new Map(partitions.map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)])),
      ]),
    )
  } finally {
    await admin.close()
  }
}

const uncommittedIn = async (
  admin: Admin,
  groupId: string,
  topics: readonly string[],
  real: Ends,
): Promise<number> => {
  const ends = await endsOf(admin, topics)
  const committed = await admin.fetchOffsets({ groupId, topics: [...topics] })
  let count = 0
  for (const [topic, partitions] of ends) {
    const ours = committed.find((each) => each.topic === topic)?.partitions ?? []
    for (const [partition, end] of partitions) {
      const offset = ours.find((each) => each.partition === partition)?.offset
      count += Math.max(end, real.get(topic)?.get(partition) ?? 0) - Math.max(0, Number(offset ?? 0))
    }
  }
  return count
}

/** What an aborted transaction wrote is not there, nor what one that is open has written. */
const originalsIn = async (kafka: Kafka, ends: Ends): Promise<readonly string[]> => {
  const ids: string[] = []
  const unread = new Set<string>()
  for (const [topic, partitions] of ends) {
    for (const [partition, end] of partitions) if (end > 0) unread.add(`${topic}/${partition}`)
  }
  if (unread.size === 0) return ids
  const consumer = kafka.consumer({
    groupId: `census-${randomUUID()}`,
    maxWaitTimeInMs: 100,
    maxBytesPerPartition: 4 * 1024 * 1024,
  })
  const all = Promise.withResolvers<void>()
  // told of batches too in which nothing is for readers: marks, and what was aborted
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { topic, partition, lastOffset } }) => {
    if (Number(lastOffset) + 1 >= ends.get(topic)!.get(partition)!) unread.delete(`${topic}/${partition}`)
    if (unread.size === 0) all.resolve()
  })
  const late = setTimeout(() => all.reject(new Error('the census took too long')), PATIENCE)
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [...ends.keys()], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ message: { value } }) => {
        const { originalEventId } = JSON.parse(String(value)) as { originalEventId?: string }
        if (originalEventId !== undefined) ids.push(originalEventId)
      },
    })
    await all.promise
    return ids
  } finally {
    clearTimeout(late)
    await consumer.disconnect()
  }
}
