import { randomUUID } from 'node:crypto'
import { Admin, Consumer, FetchIsolationLevels } from '@platformatic/kafka'

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

const CONTROL = 1 << 5
const TRANSACTIONAL = 1 << 4

/** Without a consumer group, and by the marks in the log itself: what an aborted transaction wrote is not there. */
const idsIn = async (
  common: ConstructorParameters<typeof Admin>[0],
  admin: Admin,
  topic: string,
): Promise<readonly string[]> => {
  const ends = await endsOf(admin, topic)
  const consumer = new Consumer({ ...common, groupId: `census-${randomUUID()}` })
  const ids: string[] = []
  try {
    const { topics } = await consumer.metadata({ topics: [topic] })
    const { id: topicId, partitions } = topics.get(topic)!
    for (const [partition, end] of ends.entries()) {
      const open = new Map<bigint, string[]>()
      for (let fetchOffset = 0n; fetchOffset < end; ) {
        const wanted = { partition, fetchOffset, currentLeaderEpoch: -1, lastFetchedEpoch: -1 }
        const answer = await consumer.fetch({
          node: partitions[partition]!.leader,
          topics: [{ topicId, partitions: [{ ...wanted, partitionMaxBytes: 4 * 1024 * 1024 }] }],
          isolationLevel: FetchIsolationLevels.READ_UNCOMMITTED,
          maxWaitTime: 200,
        })
        const batches = answer.responses.flatMap((each) =>
          each.partitions.flatMap(({ records }) => records ?? []),
        )
        if (batches.length === 0) break
        for (const { attributes, producerId, firstOffset, lastOffsetDelta, records } of batches) {
          if (firstOffset + BigInt(lastOffsetDelta) < fetchOffset) continue
          fetchOffset = firstOffset + BigInt(lastOffsetDelta) + 1n
          if (attributes & CONTROL) {
            const isCommit = records[0]?.key?.readInt16BE(2) === 1
            if (isCommit) ids.push(...(open.get(producerId) ?? []))
            open.delete(producerId)
            continue
          }
          const found = records.flatMap(({ value }) => originalOf(value))
          if (attributes & TRANSACTIONAL) open.set(producerId, [...(open.get(producerId) ?? []), ...found])
          else ids.push(...found)
        }
      }
    }
  } finally {
    await consumer.close(true)
  }
  return ids
}

const originalOf = (value: Buffer | null): readonly string[] => {
  const { originalEventId } = JSON.parse(String(value)) as { originalEventId?: string }
  return originalEventId === undefined ? [] : [originalEventId]
}
