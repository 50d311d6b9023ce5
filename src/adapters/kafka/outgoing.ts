import { STRUCTURED_TYPE, toMessage } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'
import { copyId, type Parcel } from '../../core/parcel.ts'
import { encodeTrail } from '../../core/trail.ts'
import {
  CONTENT_TYPE,
  COPY,
  DUE,
  INNER_TYPE,
  nameBytes,
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
  readonly value: Buffer | null
  readonly headers: Map<Buffer, Buffer>
  /** Only where it matters which; else by key, or in turn. */
  readonly partition?: number
}

/** CloudEvents' Kafka binding, binary mode. The key is the order key, so that one partition keeps its order. */
export const eventRecord = (
  topic: string,
  event: Event,
  extra?: Readonly<Record<string, string>>,
): Outgoing => {
  const aside = namesAlike(event.headers)
  const { headers, contentType, body } = toMessage(aside ? { ...event, headers: aside.plain } : event, PREFIX)
  const pairs = new Map<Buffer, Buffer>()
  for (const name in headers) pairs.set(nameBytes(name), Buffer.from(headers[name]!))
  if (contentType !== undefined) {
    const name = contentType.toLowerCase().startsWith(STRUCTURED_TYPE) ? INNER_TYPE : CONTENT_TYPE
    pairs.set(nameBytes(name), Buffer.from(contentType))
  }
  if (aside) pairs.set(nameBytes(SET_ASIDE), Buffer.from(JSON.stringify(aside.alike)))
  if (extra) for (const name in extra) pairs.set(nameBytes(name), Buffer.from(extra[name]!))
  const { orderkey, partitionkey } = event.extensions
  const key = orderkey ?? partitionkey
  return {
    topic,
    key: key === undefined ? undefined : Buffer.from(String(key)),
    value: bytes(body),
    headers: pairs,
  }
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
): Outgoing => {
  const record = eventRecord(topic, parcel.event, {
    [TRAIL]: encodeTrail(parcel.trail),
    [DUE]: String(parcel.due),
    [TARGET]: target,
    [COPY]: copyId(parcel),
    ...extra,
  })
  return record.key || !key ? record : { ...record, key }
}

const bytes = (data: Uint8Array | null): Buffer | null =>
  data === null || Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
