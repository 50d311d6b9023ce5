import { STRUCTURED_TYPE, toMessage } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'
import { copyId, type Parcel } from '../../core/parcel.ts'
import { encodeTrail } from '../../core/trail.ts'
import {
  CONTENT_TYPE,
  COPY,
  DUE,
  headerBytes,
  INNER_TYPE,
  OURS,
  PREFIX,
  SET_ASIDE,
  TARGET,
  TRAIL,
} from './headers.ts'

/** A record on its way to a topic, as the client's producer takes it. */
export interface Outgoing {
  readonly topic: string
  readonly key: Buffer | undefined
  /** undefined: no value at all. */
  readonly value: Buffer | undefined
  readonly headers: Map<Buffer, Buffer>
  /** About as many as it takes in a batch. */
  readonly bytes: number
  /** By key, or in turn, where it is not given. */
  partition: number | undefined
}

const OVERHEAD = 40
/** A record batch may be no larger than the topic allows, which is 1 MB where the broker made the topic. */
export const BATCH_BYTES = 900_000
export const REQUEST_BYTES = 8 * 1024 * 1024

/** As many at a time as one batch may hold, in their order. */
export const loadsOf = (records: readonly Outgoing[]): readonly (readonly Outgoing[])[] => {
  const loads: Outgoing[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const record of records) {
    if (bytes + record.bytes > BATCH_BYTES) {
      loads.push([])
      bytes = 0
    }
    loads.at(-1)!.push(record)
    bytes += record.bytes
  }
  return loads
}

/** CloudEvents' Kafka binding, binary mode. The key is the order key, so that one partition keeps its order. */
export const eventRecord = (
  topic: string,
  event: Event,
  extra?: Readonly<Record<string, string>>,
  fallbackKey?: Buffer | null,
): Outgoing => {
  const aside = namesAlike(event.headers)
  const { headers, contentType, body } = toMessage(aside ? { ...event, headers: aside.plain } : event, PREFIX)
  const pairs = new Map<Buffer, Buffer>()
  let bytes = OVERHEAD
  const put = (name: string, text: string) => {
    const known = headerBytes(name, text)
    pairs.set(known.name, known.value)
    bytes += known.name.length + known.value.length + 4
  }
  for (const name in headers) put(name, headers[name]!)
  if (contentType !== undefined) {
    put(contentType.toLowerCase().startsWith(STRUCTURED_TYPE) ? INNER_TYPE : CONTENT_TYPE, contentType)
  }
  if (aside) put(SET_ASIDE, JSON.stringify(aside.alike))
  if (extra) for (const name in extra) put(name, extra[name]!)
  const { orderkey, partitionkey } = event.extensions
  const name = orderkey ?? partitionkey
  const key = name === undefined ? (fallbackKey ?? undefined) : Buffer.from(String(name))
  const value = body === null ? undefined : asBuffer(body)
  bytes += (key?.length ?? 0) + (value?.length ?? 0)
  return { topic, key, value, headers: pairs, bytes, partition: undefined }
}

/** undefined: none of them could be taken for anything else. */
const namesAlike = (headers: Event['headers']) => {
  const alike: Record<string, string> = {}
  const plain: Record<string, string> = {}
  let found = false
  for (const name in headers) {
    const odd = name === CONTENT_TYPE || name.startsWith(PREFIX) || name.startsWith(OURS)
    if (odd) found = true
    ;(odd ? alike : plain)[name] = headers[name]!
  }
  return found ? { alike, plain } : undefined
}

/** A parcel on its way to one subscription. `key`: of the record it came from. */
export const parcelRecord = (
  topic: string,
  target: string,
  parcel: Parcel,
  key?: Buffer | null,
  extra?: Readonly<Record<string, string>>,
): Outgoing =>
  eventRecord(
    topic,
    parcel.event,
    {
      [TRAIL]: encodeTrail(parcel.trail),
      [DUE]: String(parcel.due),
      [TARGET]: target,
      [COPY]: copyId(parcel),
      ...extra,
    },
    key,
  )

const asBuffer = (data: Uint8Array): Buffer =>
  Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
