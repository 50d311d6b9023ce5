import type { Delivery } from '../../contracts/transport.ts'
import { fromMessage, type Message as Wire } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'
import { livesOf } from '../../core/found.ts'
import { freshParcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import { decodeTrail, freshTrail, type Trail } from '../../core/trail.ts'
import { unfit } from './carried.ts'
import type { Message, Properties } from './client.ts'
import {
  AGAIN,
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
  textOf,
  timeOf,
} from './headers.ts'

/** Where a message was taken from. */
export interface From {
  readonly queue: string
  readonly topic: string
  /** An id for a message that has none. */
  readonly mint: () => string
}

/** Any message becomes a delivery: what can't be read as an event is one too, and says so. It never throws. */
export const readMessage = (message: Message, from: From, now: Instant): Delivery => {
  const { headers = NONE } = message.properties
  try {
    return (isPlain(headers) && readPlain(message, headers, now)) || readAny(message, headers, from, now)
  } catch (error) {
    const { content, fields } = message
    const event = { ...foreign(message, from), extensions: {}, headers: {}, data: content }
    const broken = `the message can't be read: ${(error as Error).message}`
    return { parcel: freshParcel(event, now), redelivered: fields.redelivered, broken }
  }
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
  const type = textOf(raw[TYPE])
  const contentType = type ?? properties.contentType
  const wire: Wire = {
    headers,
    body: content.length === 0 && raw[DATA] !== EMPTY ? null : content,
    ...(contentType !== undefined && { contentType }),
  }
  const { event: read, broken, untyped } = readEvent(wire, message, from, type !== undefined)
  const whole = escaped ? { ...read, headers: { ...read.headers, ...escaped } } : read
  const tooMuch = unfit(whole)
  const event = tooMuch === undefined ? whole : standIn(wire, message, from)
  const due = Number(textOf(raw[DUE]))
  const trail = textOf(raw[TRAIL])
  const why = tooMuch ?? broken ?? textOf(raw[BROKEN])
  return {
    parcel:
      trail === undefined || trail.length > LONGEST_TRAIL
        ? { event, trail: trailOf(headers), due: now }
        : { event, trail: decodeTrail(trail), due: due > 0 ? due : now },
    redelivered: fields.redelivered || isCounted(raw['x-delivery-count']) || raw[AGAIN] !== undefined,
    ...(why !== undefined && { broken: why.slice(0, LONGEST_REASON) }),
    ...(untyped && { untyped }),
  }
}

/** What an office sent back as someone else's may be ours: in the life before, the ledger knows it as dead. */
const trailOf = (headers: Readonly<Record<string, string>>): Trail => {
  const { generation } = livesOf((name) => headers[name])
  return generation === undefined ? freshTrail : { ...freshTrail, generation }
}

/** In characters. What we write is shorter; what is longer would take the room of the rest of the headers. */
const LONGEST_TRAIL = 12_000
const LONGEST_REASON = 1000

const isCounted = (count: unknown): boolean => typeof count === 'number' && count > 0

const readEvent = (
  wire: Wire,
  message: Message,
  from: From,
  binary: boolean,
): { event: Event; broken?: string | undefined; untyped?: true } => {
  const ce = isBinary(wire.headers)
  if (binary && ce) {
    // the type of the data only looks like that of a structured message
    const { contentType, ...rest } = wire
    const read = fromMessage(rest, PREFIXES, NOBODY)
    if (read.broken === undefined) return { event: { ...read.event, datacontenttype: contentType! } }
  }
  const claims = ce || isStructured(wire.contentType)
  const read = fromMessage(wire, PREFIXES, claims ? NOBODY : foreign(message, from))
  if (read.broken !== undefined) return { event: standIn(wire, message, from), broken: read.broken }
  return claims ? read : { ...read, event: withProperties(read.event, message.properties) }
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
