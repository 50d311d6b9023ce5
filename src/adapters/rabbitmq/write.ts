import { toMessage } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'
import { copyId, type Parcel } from '../../core/parcel.ts'
import type { Millis } from '../../core/time.ts'
import { encodeTrail } from '../../core/trail.ts'
import type { PublishOptions } from './client.ts'
import {
  AGAIN,
  BROKEN,
  DATA,
  DUE,
  EMPTY,
  escapeHeaders,
  PREFIX,
  TRAIL,
  TYPE,
  typeIsPlain,
} from './headers.ts'

/** A message on its way: to an exchange under a key, or into a tier that passes it on under that key. */
export interface Outgoing {
  readonly exchange: string
  readonly tier?: Millis
  readonly key: string
  readonly body: Buffer
  readonly options: PublishOptions
  /** What it is the copy of: tried again it is still the same one. */
  readonly of?: object
}

export interface To {
  readonly exchange: string
  readonly key: string
  readonly tier?: Millis
}

const NOTHING = Buffer.alloc(0)
const MAX_SHORT_BYTES = 255

export const writeEvent = (event: Event, to: To, id = event.id): Outgoing => {
  const { headers, body, contentType } = toMessage(escapeHeaders(event), PREFIX)
  return compose(headers as Record<string, string>, body, contentType, to, id)
}

export const writeParcel = (parcel: Parcel, to: To, broken?: string, again = false): Outgoing => {
  const message = toMessage(escapeHeaders(parcel.event), PREFIX)
  const headers = message.headers as Record<string, string>
  headers[TRAIL] = encodeTrail(parcel.trail)
  headers[DUE] = String(parcel.due)
  if (broken !== undefined) headers[BROKEN] = broken
  if (again) headers[AGAIN] = '1'
  return compose(headers, message.body, message.contentType, to, copyId(parcel))
}

const compose = (
  headers: Record<string, string>,
  data: Uint8Array | null,
  contentType: string | undefined,
  { exchange, key, tier }: To,
  id: string,
): Outgoing => {
  // an empty body is no data, as other producers mean it; data that is empty says so
  if (data?.byteLength === 0) headers[DATA] = EMPTY
  const plain = contentType === undefined || typeIsPlain(contentType)
  if (!plain) headers[TYPE] = contentType
  return {
    exchange,
    key,
    ...(tier !== undefined && { tier }),
    body: data ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : NOTHING,
    options: {
      mandatory: true,
      persistent: true,
      headers,
      ...(contentType !== undefined && plain && { contentType }),
      ...(fits(id) && { messageId: id }),
    },
  }
}

const fits = (text: string): boolean => text.length <= 80 || Buffer.byteLength(text) <= MAX_SHORT_BYTES
