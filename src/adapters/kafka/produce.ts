import type { Millis } from '../../core/time.ts'
import type { Broker, ClusterMetadata } from './client.ts'
import { Cursor } from './cursor.ts'
import { type Numbered, writeBatch } from './encode.ts'
import { branches, CODE, errorOf } from './errors.ts'
import { type Place, placeOf } from './offsets.ts'
import type { Outgoing } from './outgoing.ts'
import { PRODUCE, type Wire } from './wire.ts'

/** What became of each partition's records, by its place: 0 is durable, else the broker's code, or why nobody knows. */
export type Outcomes = ReadonlyMap<string, number | Error>

export interface Produce {
  /**
   * One request to each broker that leads some of them; answers with nothing where all are durable. Never rejects. What
   * is tried again, because an answer was lost, is not written twice. One at a time for each partition: records are
   * numbered. `durable`: the places of which that is known before the rest has its answer.
   */
  send(records: readonly Outgoing[], durable?: Set<string>): Promise<Outcomes | undefined>
}

/** Under which name records are numbered, and the number that each partition is at. */
interface Numbering extends Omit<Numbered, 'sequence'> {
  readonly next: Map<string, number>
}

interface Batch {
  readonly topic: string
  readonly partition: number
  readonly records: Outgoing[]
  /** As it is sent, and sent again. */
  bytes: Buffer | undefined
  outcome: number | Error
}

const API = 0
/** Understood by Kafka 2.8 and later. */
const VERSION = 9
const ALL_REPLICAS = -1
const TRIES = 4
const PAUSE: Millis = 200
const NO_LEADER = 5
/** The broker does not know the producer any more, or not its last numbers: nothing of the batch was written. */
const FORGOTTEN: readonly unknown[] = [CODE.outOfOrder, CODE.unknownProducer]

export const produceBy = ({ client, producer, tools }: Wire): Produce => {
  let numbering: Numbering | undefined

  const forget = () => {
    numbering = undefined
  }
  const connect = (broker: Broker) => producer.connections.get(broker)

  /** Any broker gives a name; whoever leads some of the records is asked anyway. Another one with every try. */
  const introduce = async (metadata: ClusterMetadata, led: Iterable<number>, tries: number) => {
    const leaders = [...led].filter((leader) => metadata.brokers.has(leader))
    const ids = [...new Set([...leaders, ...metadata.brokers.keys()])]
    const connection = await connect(metadata.brokers.get(ids[(tries - 1) % ids.length]!)!)
    const { producerId, producerEpoch: epoch } = await client.initProducerIdV4.api.async(connection, null, 0)
    return { producerId, epoch, next: new Map<string, number>() }
  }

  const write = (batch: Batch, { producerId, epoch, next }: Numbering): Buffer => {
    const place = placeOf(batch)
    const sequence = next.get(place) ?? 0
    next.set(place, (sequence + batch.records.length) & 0x7fffffff)
    return writeBatch(batch.records, { producerId, epoch, sequence }, tools.clock.now(), client.crc32c)
  }

  const ask = async (broker: Broker, batches: readonly Batch[]): Promise<ReadonlyMap<string, number>> => {
    const connection = await connect(broker)
    const topics = Map.groupBy(batches, ({ topic }) => topic)
    return new Promise((resolve, reject) => {
      connection.send<ReadonlyMap<string, number>>(
        API,
        VERSION,
        () =>
          client.Writer.create()
            .appendString(null)
            .appendInt16(ALL_REPLICAS)
            .appendInt32(PRODUCE)
            .appendArray([...topics], (to, [topic, ofTopic]) => {
              to.appendString(topic).appendArray(ofTopic, (each, { partition, bytes }) => {
                each
                  .appendInt32(partition)
                  .appendUnsignedVarInt(bytes!.length + 1)
                  .append(bytes!)
              })
            })
            .appendTaggedFields(),
        (_correlation, _api, _version, reader) => readAnswer(reader.buffer.slice(reader.position)),
        true,
        true,
        (error, answer) => (error || !answer ? reject(error ?? new Error('no answer')) : resolve(answer)),
      )
    })
  }

  const askLeader = async (
    broker: Broker | undefined,
    batches: readonly Batch[],
    durable: Set<string> | undefined,
  ) => {
    let answer: ReadonlyMap<string, number> | Error
    try {
      answer = broker ? await ask(broker, batches) : new Map()
    } catch (error) {
      answer = error as Error
    }
    for (const batch of batches) {
      const place = placeOf(batch)
      const code = answer instanceof Error ? answer : (answer.get(place) ?? NO_LEADER)
      // sent before, and its answer was lost: then it is there
      batch.outcome = code === CODE.duplicateSequence ? 0 : code
      if (batch.outcome === 0) durable?.add(place)
      if (!FORGOTTEN.includes(code)) continue
      forget()
      batch.bytes = undefined
    }
  }

  const mayHelp = (outcome: number | Error): boolean => {
    if (FORGOTTEN.includes(outcome)) return true
    const error = outcome instanceof Error ? outcome : errorOf(client, outcome)
    return !branches(error).some(({ canRetry }) => canRetry === false)
  }
  /** Not durable, and another try may help. */
  const isOpen = ({ outcome }: Batch): boolean => outcome !== 0 && mayHelp(outcome)

  return {
    send: async (records, durable) => {
      const topics = [...new Set(records.map(({ topic }) => topic))]
      let batches: readonly Batch[] = []
      const attempt = async (metadata: ClusterMetadata, tries: number): Promise<void> => {
        if (batches.length === 0) batches = batchesOf(records, metadata)
        const open = batches.filter(isOpen)
        const led = Map.groupBy(open, ({ topic, partition }) => leaderOf(metadata, topic, partition))
        const by = numbering ?? (await introduce(metadata, led.keys(), tries))
        numbering ??= by
        for (const batch of open) batch.bytes ??= write(batch, by)
        await Promise.all(
          [...led].map(([leader, some]) => askLeader(metadata.brokers.get(leader), some, durable)),
        )
      }
      for (let tries = 1; ; tries++) {
        try {
          await attempt(await producer.metadata({ topics, forceUpdate: tries > 1, retries: 0 }), tries)
        } catch (error) {
          if (batches.length === 0 && (tries >= TRIES || !mayHelp(error as Error))) {
            return new Map(records.map((each) => [placeOf(each as Place), error as Error]))
          }
          for (const batch of batches.filter(isOpen)) batch.outcome = error as Error
        }
        if (batches.length > 0) {
          if (batches.every(({ outcome }) => outcome === 0)) return undefined
          if (tries >= TRIES || !batches.some(isOpen)) break
        }
        await tools.clock.sleep(PAUSE)
      }
      // one that never arrived leaves a gap in the numbers, and the broker would refuse all that follow
      forget()
      return new Map(batches.map((batch) => [placeOf(batch), batch.outcome]))
    },
  }
}

const leaderOf = ({ topics }: ClusterMetadata, topic: string, partition: number): number =>
  topics.get(topic)?.partitions[partition]?.leader ?? -1

/** A topic may have fewer partitions than when its records were addressed: it was deleted and made anew. */
const batchesOf = (records: readonly Outgoing[], metadata: ClusterMetadata): readonly Batch[] => {
  const topics = new Map<string, Batch[]>()
  const batches: Batch[] = []
  for (const record of records) {
    const { topic } = record
    const { partitionsCount = 0 } = metadata.topics.get(topic) ?? {}
    if (partitionsCount === 0) throw new Error(`Unknown topic ${topic}: brokers name no partition of it.`)
    record.partition = (record.partition ?? 0) % partitionsCount
    let places = topics.get(topic)
    if (!places) {
      places = []
      topics.set(topic, places)
    }
    let batch = places[record.partition]
    if (!batch) {
      batch = { topic, partition: record.partition, records: [], bytes: undefined, outcome: NO_LEADER }
      places[record.partition] = batch
      batches.push(batch)
    }
    batch.records.push(record)
  }
  return batches
}

/** The code of each partition, by its place. */
export const readAnswer = (bytes: Buffer): ReadonlyMap<string, number> => {
  const from = new Cursor(bytes)
  const codes = new Map<string, number>()
  const text = () => {
    const length = Math.max(0, from.unsigned() - 1)
    from.at += length
    return bytes.toString('utf8', from.at - length, from.at)
  }
  for (let topics = from.unsigned() - 1; topics > 0; topics--) {
    const topic = text()
    for (let left = from.unsigned() - 1; left > 0; left--) {
      const partition = from.int32()
      codes.set(placeOf({ topic, partition }), from.int16())
      from.at += 24 // where it was put, when, and where the log begins
      for (let errors = from.unsigned() - 1; errors > 0; errors--) {
        from.at += 4
        text()
        from.skipTags()
      }
      text()
      from.skipTags()
    }
    from.skipTags()
  }
  return codes
}
