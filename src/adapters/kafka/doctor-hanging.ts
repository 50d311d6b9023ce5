import type { Millis } from '../../core/time.ts'
import { span } from '../../core/time.ts'
import type { Found, NeededTopic } from './checks.ts'
import type { ClusterMetadata } from './client.ts'
import { notSeen } from './doctor-cluster.ts'
import type { Wire } from './wire.ts'

/** No broker lets a transaction be open for longer, unless it was told to (`transaction.max.timeout.ms`). */
const LONGEST: Millis = 15 * 60_000

interface Hanging {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly since: number
}

/** Transactions that nobody will end: readers of what is committed never get past them. */
export const hanging = async (wire: Wire, topics: readonly NeededTopic[]): Promise<readonly Found[]> => {
  if (topics.length === 0) return []
  let found: readonly Hanging[]
  try {
    const names = topics.map(({ name }) => name)
    found = await openIn(wire, await wire.admin.metadata({ topics: names }))
  } catch (error) {
    return [notSeen('transactions that are open', error)]
  }
  const now = wire.tools.clock.now()
  const late = found.filter(({ since }) => now - since > LONGEST)
  if (late.length === 0) {
    const what = `none is open for longer than ${span(LONGEST)}`
    return [{ check: 'kafka-hanging', level: 'fine', where: 'transactions', what }]
  }
  const at = wire.settings.brokers.join(',')
  return late.map(({ topic, partition, offset, since }) => ({
    check: 'kafka-hanging',
    level: 'wrong',
    where: `${topic}/${partition}`,
    what: `a transaction is open from offset ${offset} for ${span(now - since)}`,
    why: 'its broker has lost track of it, and nobody reads what lies behind: retries and letters wait there for ever',
    fix: `kafka-transactions.sh --bootstrap-server ${at} abort --topic ${topic} --partition ${partition} --start-offset ${offset}`,
  }))
}

/** Whoever leads a partition knows which transactions are open there. */
const openIn = async ({ admin, client }: Wire, metadata: ClusterMetadata): Promise<readonly Hanging[]> => {
  const places = [...metadata.topics].flatMap(([name, { partitions }]) =>
    partitions.map(({ leader }, partition) => ({ name, partition, leader })),
  )
  const found: Hanging[] = []
  for (const [leader, led] of Map.groupBy(places, (place) => place.leader)) {
    const broker = metadata.brokers.get(leader)
    if (!broker) continue // said where leaders are looked at
    const asked = [...Map.groupBy(led, ({ name }) => name)].map(([name, ofTopic]) => ({
      name,
      partitionIndexes: ofTopic.map(({ partition }) => partition),
    }))
    const connection = await admin.connections.get(broker)
    const { topics } = await client.describeProducersV0.api.async(connection, asked)
    for (const { name: topic, partitions } of topics) {
      for (const { partitionIndex: partition, activeProducers } of partitions) {
        for (const { currentTxnStartOffset: offset, lastTimestamp } of activeProducers) {
          if (offset >= 0n) found.push({ topic, partition, offset, since: Number(lastTimestamp) })
        }
      }
    }
  }
  return found
}
