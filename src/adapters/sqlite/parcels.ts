import type { Event, Priority } from '../../core/event.ts'
import type { Parcel } from '../../core/parcel.ts'
import { rankOf } from '../../core/rank.ts'
import type { Instant } from '../../core/time.ts'
import { decodeTrail, encodeTrail, freshTrail, type Trail } from '../../core/trail.ts'
import type { File } from './file.ts'
import { isFollower } from './order.ts'
import { RANKS } from './ranks.ts'
import { PARKED } from './schema.ts'
import type { Door } from './subscriptions.ts'

/** An event in the form of its columns. Made before a job is queued: what can't be written fails its caller only. */
export interface Written {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly attributes: string | null
  readonly headers: string | null
  readonly trail: string | null
  readonly data: Uint8Array | null
  readonly orderKey: string | null
  readonly priority: Priority | undefined
  readonly spent: number
}

export const writtenOf = (event: Event, trail = freshTrail): Written => ({
  id: event.id,
  source: event.source,
  type: event.type,
  attributes: attributesOf(event),
  headers: filled(event.headers) ? JSON.stringify(event.headers) : null,
  trail: writtenTrail(trail),
  data: event.data,
  orderKey: event.extensions.orderkey === undefined ? null : String(event.extensions.orderkey),
  priority: event.extensions.priority,
  spent: trail.spent,
})

/** At a destination there is none. */
export const rankAt = (door: Door, written: Written): number =>
  door.kind === 'destination' ? RANKS.fresh : RANKS[rankOf(written, door.urges)]

export const writtenTrail = (trail: Trail): string | null =>
  trail === freshTrail ? null : encodeTrail(trail)

const attributesOf = ({ subject, time, datacontenttype, dataschema, extensions }: Event): string | null => {
  const kept = filled(extensions) ? extensions : undefined
  const text = JSON.stringify({ subject, time, datacontenttype, dataschema, extensions: kept })
  return text === '{}' ? null : text
}

const filled = (record: object): boolean => {
  for (const _ in record) return true
  return false
}

/** Whole milliseconds that leave room for what is parked; never earlier than asked. */
export const instant = (at: Instant): Instant => Math.min(Math.ceil(at), PARKED - 1)

const INSERT = `
INSERT INTO reprieve_parcel
  (subscription, rank, at, due, order_key, event, source, type, attributes, headers, trail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_DATA = 'INSERT INTO reprieve_data (parcel, bytes) VALUES (?, ?)'
const DELETE_DATA = 'DELETE FROM reprieve_data WHERE parcel = ?'

/** Puts a parcel behind all others of its door. */
export const insertParcel = (file: File, door: Door, written: Written, at: Instant): void => {
  const due = instant(at)
  const orderKey = written.orderKey !== null && door.inOrder(written.type) ? written.orderKey : null
  const parked = orderKey !== null && isFollower(file, door.id, orderKey)
  const { id, source, type, attributes, headers, trail, data } = written
  const ready = parked ? due + PARKED : due
  const { lastInsertRowid } = file
    .sql(INSERT)
    .run(door.id, rankAt(door, written), ready, due, orderKey, id, source, type, attributes, headers, trail)
  if (data !== null) file.sql(INSERT_DATA).run(lastInsertRowid, data)
}

/** For a parcel that carries something else from now on. */
export const replaceData = (file: File, parcel: number, data: Uint8Array | null): void => {
  file.sql(DELETE_DATA).run(parcel)
  if (data !== null) file.sql(INSERT_DATA).run(parcel, data)
}

/** The columns of a parcel, in the order in which `readParcel` takes them. */
export const COLUMNS =
  'id, token, deliveries, order_key, due, event, source, type, attributes, headers, trail, bytes, rank'

export type ParcelRow = readonly [
  id: number,
  token: number,
  deliveries: number,
  orderKey: string | null,
  due: number,
  event: string,
  source: string,
  type: string,
  attributes: string | null,
  headers: string | null,
  trail: string | null,
  data: Uint8Array | null,
  rank: number,
]

export const readParcel = (row: ParcelRow): Parcel => {
  const [, , , , due, id, source, type, attributes, headers, trail, data] = row
  const known: Partial<Event> = attributes === null ? {} : (JSON.parse(attributes) as Partial<Event>)
  const event: Writable<Event> = {
    id,
    source,
    type,
    extensions: known.extensions ?? {},
    headers: headers === null ? {} : (JSON.parse(headers) as Event['headers']),
    data,
  }
  // Written out, for it is done for every parcel, and a spread takes several times as long.
  if (known.subject !== undefined) event.subject = known.subject
  if (known.time !== undefined) event.time = known.time
  if (known.datacontenttype !== undefined) event.datacontenttype = known.datacontenttype
  if (known.dataschema !== undefined) event.dataschema = known.dataschema
  return { event, trail: trail === null ? freshTrail : decodeTrail(trail), due }
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }
