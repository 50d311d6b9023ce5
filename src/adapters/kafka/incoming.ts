import { textIn } from '../../core/binary-text.ts'
import { fromMessage, type Message, STRUCTURED_TYPE } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'
import type { Parcel } from '../../core/parcel.ts'
import { decodeTrail, freshTrail } from '../../core/trail.ts'
import { keyOf, type RawRecord } from './batches.ts'
import { CONTENT_TYPE, INNER_TYPE, OURS, PREFIX, readTexts, SET_ASIDE, TRAIL } from './headers.ts'

export interface Place {
  readonly topic: string
  readonly partition: number
  /** Its records are parcels: what looks like ours is ours. On other topics it is someone else's header. */
  readonly parcels: boolean
}

export interface Incoming {
  readonly event: Event
  readonly trail: Parcel['trail']
  readonly broken?: string
  readonly untyped?: true
}

/**
 * The parcel a record carries. One that claims to be CloudEvents and is not comes as a stand-in with the raw
 * bytes; one that claims nothing is a foreign producer's, and its place in the log is its id.
 */
export const readRecord = (record: RawRecord, place: Place, offset: number): Incoming => {
  try {
    const incoming = read(record, place, offset)
    const event = keyed(incoming.event, record)
    return event === incoming.event ? incoming : { ...incoming, event }
  } catch (error) {
    const data = record.bytes.subarray(record.at, record.end)
    const event = { ...standIn(place, offset), extensions: {}, headers: {}, data }
    return { event, trail: freshTrail, broken: `the record can't be read: ${(error as Error).message}` }
  }
}

/** With its record's key as order key, where it names none: who writes to Kafka gives a key to what must stay in order. */
export const orderedByKey = (event: Event, record: RawRecord): Event => {
  const { orderkey = keyIn(record) } = event.extensions
  return orderkey === undefined ? event : { ...event, extensions: { ...event.extensions, orderkey } }
}

/** A tombstone says nothing but its key, and whoever handles or replays an event may need it: the binding calls it so. */
const keyed = (event: Event, record: RawRecord): Event => {
  const { orderkey, partitionkey = keyIn(record) } = event.extensions
  if (orderkey !== undefined || partitionkey === undefined) return event
  return { ...event, extensions: { ...event.extensions, partitionkey } }
}

const keyIn = (record: RawRecord): string | undefined => {
  const key = keyOf(record)
  return key?.length ? textIn(key) : undefined
}

const read = (record: RawRecord, place: Place, offset: number): Incoming =>
  readUsual(record, place) ?? readAny(record, place, offset)

/** What nearly every record is: our own binary mode, with nothing odd about it. Else undefined. */
const readUsual = (record: RawRecord, place: Place): Incoming | undefined => {
  const extensions: Record<string, string> = {}
  const headers: Record<string, string> = {}
  let specversion = ''
  let id = ''
  let source = ''
  let type = ''
  let time: string | undefined
  let contentType: string | undefined
  let trail: string | undefined
  let odd = false
  const data = readTexts(
    record,
    (name, text, kind) => {
      switch (kind) {
        case 'specversion':
          specversion = text
          break
        case 'id':
          id = text
          break
        case 'source':
          source = text
          break
        case 'type':
          type = text
          break
        case 'time':
          time = text
          break
        case 'content type':
          contentType = text
          break
        case 'extension':
          extensions[name.slice(PREFIX.length)] = text
          break
        case 'header':
          headers[name] = text
          break
        case 'trail':
          trail = text
          break
        default:
          odd = true
      }
    },
    place.parcels,
  )
  if (odd || specversion !== '1.0' || !id || !source || !type) return undefined
  if (trail !== undefined && !place.parcels) return undefined
  if (contentType?.toLowerCase().startsWith(STRUCTURED_TYPE)) return undefined
  const event: Writable = { id, source, type, extensions, headers, data }
  if (time !== undefined) event.time = time
  if (contentType !== undefined) event.datacontenttype = contentType
  return { event, trail: decodeTrail(trail) }
}

type Writable = { -readonly [Name in keyof Event]: Event[Name] }

const readAny = (record: RawRecord, place: Place, offset: number): Incoming => {
  const headers: Record<string, string> = {}
  const ours: Record<string, string> = {}
  let contentType = undefined as string | undefined
  const sort = (name: string, text: string) => {
    if (name === CONTENT_TYPE) contentType = text
    else if (name.startsWith(OURS) && (place.parcels || name === SET_ASIDE || name === INNER_TYPE))
      ours[name] = text
    else headers[name] = text
  }
  const body = readTexts(record, sort, place.parcels)
  const trail = ours[TRAIL] === undefined ? freshTrail : decodeTrail(ours[TRAIL])
  const message: Message = contentType === undefined ? { headers, body } : { headers, body, contentType }
  const foreign = SPECVERSION in headers ? NOBODY : standIn(place, offset)
  const found = fromMessage(message, PREFIXES, foreign)
  const event =
    found.broken === undefined
      ? found.event
      : {
          ...standIn(place, offset),
          ...(contentType && { datacontenttype: contentType }),
          extensions: {},
          headers,
          data: body,
        }
  const whole = SET_ASIDE in ours || INNER_TYPE in ours ? restored(event, ours) : event
  if (found.broken !== undefined) return { event: whole, trail, broken: found.broken }
  return found.untyped ? { event: whole, trail, untyped: true } : { event: whole, trail }
}

const restored = (event: Event, ours: Readonly<Record<string, string>>): Event => ({
  ...event,
  headers: { ...event.headers, ...textsIn(ours[SET_ASIDE]) },
  ...(ours[INNER_TYPE] !== undefined && { datacontenttype: ours[INNER_TYPE] }),
})

/** Someone else's header may have the same name. */
const textsIn = (json: string | undefined): Record<string, string> => {
  try {
    const read: unknown = JSON.parse(json ?? '{}')
    const entries = typeof read === 'object' && read !== null ? Object.entries(read) : []
    return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string'))
  } catch {
    return {}
  }
}

const PREFIXES = [PREFIX]
const SPECVERSION = `${PREFIX}specversion`
const NOBODY = { id: '', source: '', type: '' }

const standIn = ({ topic, partition }: Place, offset: number) => ({
  id: `kafka:${topic}/${partition}/${offset}`,
  source: `kafka:${topic}`,
  type: topic,
})
