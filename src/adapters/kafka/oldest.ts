import type { Instant } from '../../core/time.ts'
import { CONTROL, eachRecord } from './batches.ts'
import { fetchOnce } from './fetch.ts'
import type { Place } from './offsets.ts'
import type { Wire } from './wire.ts'

export interface Next extends Place {
  readonly offset: number
}

/** When the oldest of these records was written, by a look at each: undefined where none is there. */
export const oldestOf = async (wire: Wire, next: readonly Next[]): Promise<Instant | undefined> => {
  if (next.length === 0) return undefined
  const names = [...new Set(next.map(({ topic }) => topic))]
  const { brokers, topics } = await wire.clerk.metadata({ topics: names })
  const led = Map.groupBy(next, ({ topic, partition }) => topics.get(topic)?.partitions[partition]?.leader)
  let oldest: Instant | undefined
  for (const [node, ofNode] of led) {
    const broker = node === undefined ? undefined : brokers.get(node)
    if (!broker) continue
    const asked = [...Map.groupBy(ofNode, ({ topic }) => topics.get(topic)!.id)].map(([topicId, places]) => ({
      topicId,
      partitions: places.map(({ partition, offset }) => ({
        partition,
        fetchOffset: BigInt(offset),
        currentLeaderEpoch: -1,
        lastFetchedEpoch: -1,
        // the first batch comes whole, however large it is
        partitionMaxBytes: 1,
      })),
    }))
    const { partitions } = await fetchOnce({ client: wire.client, fetcher: wire.clerk }, broker, asked, 0)
    for (const { topicId, partition, batches } of partitions) {
      const from = ofNode.find(
        (each) => each.partition === partition && topics.get(each.topic)!.id === topicId,
      )
      for (const batch of batches) {
        if ((batch.attributes & CONTROL) !== 0) continue
        eachRecord(batch, (offset, timestamp) => {
          if (offset >= from!.offset) oldest = Math.min(oldest ?? timestamp, timestamp)
        })
      }
    }
  }
  return oldest
}
