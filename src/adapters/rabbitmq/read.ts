import type { Delivery } from '../../contracts/transport.ts'
import { fromMessage, type Message as Wire } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'
import { freshParcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import { decodeTrail } from '../../core/trail.ts'
import type { Message, Properties } from './client.ts'
import {
  BROKEN,
  DATA,
  DUE,
  EMPTY,
  isBinary,
  isPlain,
  isStructured,
  PREFIXES,
  TRAIL,
  TYPE,
  textHeaders,
  timeOf,
} from './headers.ts'

/** Where a message was taken from. */
export interface From {
  readonly queue: string
  readonly topic: string
  /** An id for a message that has none. */
  readonly mint: () => string
}

/** Any message becomes a delivery: what can't be read as an event is one too, and says so. */
export const readMessage = (message: Message, from: From, now: Instant): Delivery => {
  const { headers = NONE } = message.properties
  return (isPlain(headers) && readPlain(message, headers, now)) || readAny(message, headers, from, now)
}

const NONE: Readonly<Record<string, unknown>> = {}

/** The hot path: an event as its publisher sent it, in the mode that we send ourselves. */
const readPlain = (
  { content, fields, properties: { contentType } }: Message,
  headers: Readonly<Record<string, string>>,
  now: Instant,
): Delivery | undefined => {
  if (isStructured(contentType)) return undefined
  const body = content.length === 0 ? null : content
  const wire = contentType === undefined ? { headers, body } : { contentType, headers, body }
  const read = fromMessage(wire, PREFIXES, NOBODY)
  if (read.broken !== undefined) return undefined
  return { parcel: freshParcel(read.event, now), redelivered: fields.redelivered }
}

const readAny = (
  message: Message,
  raw: Readonly<Record<string, unknown>>,
  from: From,
  now: Instant,
): Delivery => {
  const { content, fields, properties } = message
  const { headers, escaped } = textHeaders(raw)
  const contentType = (raw[TYPE] as string | undefined) ?? properties.contentType
  const wire: Wire = {
    headers,
    body: content.length === 0 && raw[DATA] !== EMPTY ? null : content,
    ...(contentType !== undefined && { contentType }),
  }
  const { event, broken } = readEvent(wire, message, from, raw[TYPE] !== undefined)
  const whole = escaped ? { ...event, headers: { ...event.headers, ...escaped } } : event
  const due = Number(raw[DUE])
  const why = broken ?? (raw[BROKEN] as string | undefined)
  return {
    parcel:
      raw[TRAIL] === undefined
        ? freshParcel(whole, now)
        : { event: whole, trail: decodeTrail(String(raw[TRAIL])), due: due > 0 ? due : now },
    redelivered: fields.redelivered || Number(raw['x-delivery-count'] ?? 0) > 0,
    ...(why !== undefined && { broken: why }),
  }
}

const readEvent = (
  wire: Wire,
  message: Message,
  from: From,
  binary: boolean,
): { event: Event; broken?: string } => {
  const ce = isBinary(wire.headers)
  if (binary && ce) {
    // the type of the data only looks like that of a structured message
    const { contentType, ...untyped } = wire
    const read = fromMessage(untyped, PREFIXES, NOBODY)
    if (read.broken === undefined) return { event: { ...read.event, datacontenttype: contentType! } }
  }
  const claims = ce || isStructured(wire.contentType)
  const read = fromMessage(wire, PREFIXES, claims ? NOBODY : foreign(message, from))
  if (read.broken !== undefined) return { event: standIn(wire, message, from), broken: read.broken }
  return { event: claims ? read.event : withProperties(read.event, message.properties) }
}

const NOBODY = { id: '', source: '', type: '' }

/**
 * Without an id of its own a message gets one here. One derived from its bytes would make dedup swallow the second of
 * two that are alike; the price is that it is another event, to dedup, when the broker hands it over again.
 */
const foreign = ({ fields, properties }: Message, from: From) => ({
  id: properties.messageId || from.mint(),
  source: `rabbitmq/${fields.exchange || from.queue}`,
  // what was sent straight to the queue bears the queue's name
  type: fields.exchange === '' && fields.routingKey === from.queue ? from.topic : fields.routingKey,
})

/** A record that claims to be CloudEvents and is not: its bytes. */
const standIn = (wire: Wire, message: Message, from: From): Event => ({
  ...foreign(message, from),
  ...(wire.contentType !== undefined && { datacontenttype: wire.contentType }),
  extensions: {},
  headers: wire.headers,
  data: message.content,
})

/** What a foreign producer said in AMQP's own properties. */
const withProperties = (event: Event, { correlationId, timestamp }: Properties): Event => ({
  ...event,
  ...(typeof timestamp === 'number' && { time: timeOf(timestamp) }),
  extensions: correlationId ? { correlationid: correlationId } : {},
})
