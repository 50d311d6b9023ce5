import { bytesOf } from '../../core/binary-text.ts'
import { STRUCTURED_TYPE } from '../../core/cloudevents.ts'
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

/** A record on its way to a topic. */
export interface Outgoing {
  readonly topic: string
  readonly key: Buffer | undefined
  /** undefined: no value at all. */
  readonly value: Buffer | undefined
  /** Name, value, name, value …; undefined: no value at all. */
  readonly headers: readonly (Buffer | undefined)[]
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

/** As the client's producer takes it. */
export const asMessage = ({ headers, ...record }: Outgoing) => {
  const pairs = new Map<Buffer, Buffer>()
  // one without a value is written as such, though its types do not know of any
  for (let n = 0; n < headers.length; n += 2) pairs.set(headers[n]!, headers[n + 1]!)
  return { ...record, headers: pairs }
}

/** CloudEvents' Kafka binding, binary mode. The key is the order key, so that one partition keeps its order. */
export const eventRecord = (
  topic: string,
  event: Event,
  extra?: Readonly<Record<string, string>>,
  fallbackKey?: Buffer | null,
): Outgoing => {
  const { headers, extensions, datacontenttype: contentType, data } = event
  const aside = hasNamesAlike(headers) ? namesAlike(headers) : undefined
  const pairs: Buffer[] = []
  let bytes = OVERHEAD
  const put = (name: string, text: string) => {
    const known = headerBytes(name, text)
    pairs.push(known.name, known.value)
    bytes += known.name.length + known.value.length + 4
  }
  const plain = aside ? aside.plain : headers
  for (const name in plain) put(name, plain[name]!)
  for (const name in extensions) {
    const value = extensions[name]
    if (value !== undefined && !isOwn(event, name)) put(PREFIX + name, String(value))
  }
  put(ATTRIBUTES.specversion, '1.0')
  put(ATTRIBUTES.id, event.id)
  put(ATTRIBUTES.source, event.source)
  put(ATTRIBUTES.type, event.type)
  if (event.subject !== undefined) put(ATTRIBUTES.subject, event.subject)
  if (event.time !== undefined) put(ATTRIBUTES.time, event.time)
  if (event.dataschema !== undefined) put(ATTRIBUTES.dataschema, event.dataschema)
  if (contentType !== undefined) {
    put(contentType.toLowerCase().startsWith(STRUCTURED_TYPE) ? INNER_TYPE : CONTENT_TYPE, contentType)
  }
  if (aside) put(SET_ASIDE, JSON.stringify(aside.alike))
  if (extra) for (const name in extra) put(name, extra[name]!)
  const { orderkey, partitionkey } = extensions
  const name = orderkey ?? partitionkey
  const key = name === undefined ? (fallbackKey ?? undefined) : bytesOf(String(name))
  const value = data === null ? undefined : asBuffer(data)
  bytes += (key?.length ?? 0) + (value?.length ?? 0)
  return { topic, key, value, headers: pairs, bytes, partition: undefined }
}

/** The event's own, under the names they have on Kafka; no extension may pass for one of them. */
const ATTRIBUTES = {
  specversion: `${PREFIX}specversion`,
  id: `${PREFIX}id`,
  source: `${PREFIX}source`,
  type: `${PREFIX}type`,
  subject: `${PREFIX}subject`,
  time: `${PREFIX}time`,
  dataschema: `${PREFIX}dataschema`,
} as const

const isOwn = (event: Event, name: string): boolean =>
  Object.hasOwn(ATTRIBUTES, name) && (name === 'specversion' || event[name as 'id'] !== undefined)

/** It could be taken for the binding's or ours. */
const isAlike = (name: string): boolean =>
  name === CONTENT_TYPE || name.startsWith(PREFIX) || name.startsWith(OURS)

const hasNamesAlike = (headers: Event['headers']): boolean => {
  for (const name in headers) if (isAlike(name)) return true
  return false
}

const namesAlike = (headers: Event['headers']) => {
  const alike: Record<string, string> = {}
  const plain: Record<string, string> = {}
  for (const name in headers) (isAlike(name) ? alike : plain)[name] = headers[name]!
  return { alike, plain }
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
