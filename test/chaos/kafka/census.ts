import { randomUUID } from 'node:crypto'
import { Admin, Consumer, MessagesStreamModes } from '@platformatic/kafka'

export interface Census {
  /** The events that letters in the destination are about, in the order of the log. */
  readonly dead: readonly string[]
  /** Records past the commit of the consumer group, in the source and its retry topics. */
  readonly uncommitted: number
}

/** What lies on the brokers, by a client that knows nothing of us. */
export const census = async (brokers: readonly string[], service: string, topic: string): Promise<Census> => {
  const common = { clientId: 'census', bootstrapBrokers: [...brokers], timeout: 10_000, retries: 5 }
  const admin = new Admin(common)
  try {
    const topics = await admin.listTopics()
    const graves = topics.filter((name) => name.includes(service) && !name.includes('.retry.'))
    const dead: string[] = []
    for (const grave of graves) dead.push(...(await idsIn(common, admin, grave)))
    const waits = topics.filter((name) => name.startsWith(`${service}.retry.`))
    const [group] = await admin.listConsumerGroupOffsets({ groups: [service] })
    let uncommitted = 0
    for (const name of [topic, ...waits]) {
      const ends = await endsOf(admin, name)
      const partitions = group?.topics.find((each) => each.name === name)?.partitions ?? []
      ends.forEach((end, at) => {
        const committed = partitions.find(({ partitionIndex }) => partitionIndex === at)?.committedOffset
        uncommitted += Number(end) - Math.max(0, Number(committed ?? 0n))
      })
    }
    return { dead, uncommitted }
  } finally {
    await admin.close()
  }
}

const endsOf = async (admin: Admin, name: string): Promise<readonly bigint[]> => {
  const { topics } = await admin.metadata({ topics: [name] })
  const count = topics.get(name)?.partitionsCount ?? 0
  const partitions = Array.from({ length: count }, (_, partitionIndex) => ({
    partitionIndex,
    timestamp: -1n,
  }))
  const [found] = await admin.listOffsets({ topics: [{ name, partitions }] })
  const ends = new Array<bigint>(count).fill(0n)
  for (const { partitionIndex, offset } of found?.partitions ?? []) ends[partitionIndex] = offset
  return ends
}

const idsIn = async (
  common: ConstructorParameters<typeof Admin>[0],
  admin: Admin,
  topic: string,
): Promise<readonly string[]> => {
  const total = (await endsOf(admin, topic)).reduce((sum, end) => sum + Number(end), 0)
  if (total === 0) return []
  const consumer = new Consumer({ ...common, groupId: `census-${randomUUID()}` })
  const stream = await consumer.consume({
    topics: [topic],
    mode: MessagesStreamModes.EARLIEST,
    autocommit: false,
    maxWaitTime: 200,
  })
  const ids: string[] = []
  let seen = 0
  // where transactions ended, offsets hold no record: then nothing more comes, and only time tells
  const close = () => void stream.close()
  let quiet = setTimeout(close, 5_000)
  for await (const { value } of stream) {
    clearTimeout(quiet)
    quiet = setTimeout(close, 1_500)
    const letter = JSON.parse(value.toString()) as { originalEventId?: string }
    if (letter.originalEventId) ids.push(letter.originalEventId)
    if (++seen >= total) break
  }
  clearTimeout(quiet)
  await stream.close()
  await consumer.close(true)
  return ids
}
