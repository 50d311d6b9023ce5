import type { Instant } from '../../core/time.ts'
import { CONTROL, eachRecord } from './batches.ts'
import type { Broker, ClusterMetadata } from './client.ts'
import { type Fetched, fetchOnce } from './fetch.ts'
import type { Place } from './offsets.ts'
import type { Wire } from './wire.ts'

export interface Next extends Place {
  readonly offset: number
}

/** Enough for the first batch of most. */
const A_LOOK = 16 * 1024

/** When the oldest of these records was written, by a look at each: undefined where none is there. */
export const oldestOf = async (wire: Wire, next: readonly Next[]): Promise<Instant | undefined> => {
  if (next.length === 0) return undefined
  const names = [...new Set(next.map(({ topic }) => topic))]
  const { brokers, topics } = await wire.clerk.metadata({ topics: names })
  const led = Map.groupBy(next, ({ topic, partition }) => topics.get(topic)?.partitions[partition]?.leader)
  let oldest: Instant | undefined
  for (const [node, ofNode] of led) {
    const broker = node === undefined ? undefined : brokers.get(node)
    // the first one that has records gets a batch however large it is, others only what fits: these are asked for again
    for (let left = broker ? ofNode : []; left.length > 0; ) {
      const told = await lookAt(wire, broker!, left, topics)
      for (const time of told.values()) oldest = Math.min(oldest ?? time, time)
      left = told.size === 0 ? [] : left.filter((each) => !told.has(each))
    }
  }
  return oldest === Number.POSITIVE_INFINITY ? undefined : oldest
}

/** Infinity: there is nothing to be told of it. */
const lookAt = async (
  { client, clerk }: Wire,
  broker: Broker,
  places: readonly Next[],
  topics: ClusterMetadata['topics'],
): Promise<ReadonlyMap<Next, Instant>> => {
  const idOf = ({ topic }: Next) => topics.get(topic)!.id
  const asked = [...Map.groupBy(places, idOf)].map(([topicId, ofTopic]) => ({
    topicId,
    partitions: ofTopic.map(({ partition, offset }) => ({
      partition,
      fetchOffset: BigInt(offset),
      currentLeaderEpoch: -1,
      lastFetchedEpoch: -1,
      partitionMaxBytes: A_LOOK,
    })),
  }))
  const { partitions } = await fetchOnce({ client, fetcher: clerk }, broker, asked, 0)
  const told = new Map<Next, Instant>()
  for (const each of partitions) {
    const from = places.find((place) => place.partition === each.partition && idOf(place) === each.topicId)
    if (from && (each.batches.length > 0 || each.unread)) told.set(from, earliestIn(each, from.offset))
  }
  return told
}

const earliestIn = ({ batches }: Fetched, from: number): Instant => {
  let earliest = Number.POSITIVE_INFINITY
  for (const batch of batches) {
    if ((batch.attributes & CONTROL) !== 0) continue
    eachRecord(batch, (offset, timestamp) => {
      if (offset >= from) earliest = Math.min(earliest, timestamp)
    })
  }
  return earliest
}
