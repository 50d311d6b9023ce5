import { type RawBatch, type Room, readBatches, type Unpack } from './batches.ts'
import type { Broker, FetchRequestTopic } from './client.ts'
import { Cursor } from './cursor.ts'
import { unpackBy } from './unpack.ts'
import type { Wire } from './wire.ts'

/** What one broker answered for one partition. */
export interface Fetched {
  readonly topicId: string
  readonly partition: number
  readonly code: number
  /** Where the log ends for us: behind it lie only open transactions. */
  readonly end: number
  readonly aborted: readonly Aborted[]
  readonly batches: readonly RawBatch[]
  /** Why what lies there can't be read. */
  readonly unread?: Error
}

export interface Aborted {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

export interface FetchAnswer {
  readonly code: number
  readonly partitions: readonly Fetched[]
}

const API = 1
/** Understood by Kafka 3.1 and later. */
const VERSION = 13
const READ_COMMITTED = 1
const NO_SESSION = 0
const NO_EPOCH = -1
const ANSWER_BYTES = 8 * 1024 * 1024
/** What was packed may be any number of times more when it is unpacked. */
const UNPACKED_BYTES = 2 * ANSWER_BYTES

/** One request, in the client's words and on its connection; the answer is read by us. */
export const fetchOnce = async (
  { client, fetcher }: Pick<Wire, 'client'> & { fetcher: Wire['admin'] },
  broker: Broker,
  topics: FetchRequestTopic[],
  wait: number,
): Promise<FetchAnswer> => {
  const connection = await fetcher.connections.get(broker)
  const unpack = unpackBy(client)
  return new Promise((resolve, reject) => {
    connection.send<FetchAnswer>(
      API,
      VERSION,
      () =>
        client.fetchV13.createRequest(
          wait,
          1,
          ANSWER_BYTES,
          READ_COMMITTED,
          NO_SESSION,
          NO_EPOCH,
          topics,
          [],
          '',
        ),
      (_correlation, _api, _version, reader) => readAnswer(reader.buffer.slice(reader.position), unpack),
      true,
      true,
      (error, answer) => (error || !answer ? reject(error ?? new Error('no answer')) : resolve(answer)),
    )
  })
}

export const readAnswer = (bytes: Buffer, unpack: Unpack): FetchAnswer => {
  const from = new Cursor(bytes)
  from.at += 4 // throttle time
  const code = from.int16()
  from.at += 4 // session
  const partitions: Fetched[] = []
  const room: Room = { left: UNPACKED_BYTES }
  for (let topics = from.unsigned() - 1; topics > 0; topics--) {
    const topicId = uuidAt(bytes, from.at)
    from.at += 16
    for (let left = from.unsigned() - 1; left > 0; left--) partitions.push(readPartition(topicId))
    from.skipTags()
  }
  return { code, partitions }

  function readPartition(topicId: string): Fetched {
    const partition = from.int32()
    const code = from.int16()
    const high = Number(from.int64())
    const stable = Number(from.int64())
    from.at += 8 // where the log begins
    const aborted: Aborted[] = []
    for (let left = from.unsigned() - 1; left > 0; left--) {
      aborted.push({ producerId: from.int64(), firstOffset: from.int64() })
      from.skipTags()
    }
    from.at += 4 // preferred replica
    const length = Math.max(0, from.unsigned() - 1)
    const records = bytes.subarray(from.at, from.at + length)
    from.at += length
    from.skipTags()
    const answer = { topicId, partition, code, end: stable >= 0 ? stable : high, aborted }
    try {
      return { ...answer, batches: readBatches(records, unpack, room) }
    } catch (unread) {
      // other partitions have nothing to do with it
      return { ...answer, batches: [], unread: unread as Error }
    }
  }
}

const uuidAt = (bytes: Buffer, at: number): string => {
  const hex = bytes.toString('hex', at, at + 16)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
