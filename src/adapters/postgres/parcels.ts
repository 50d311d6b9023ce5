import type { Event, Priority } from '../../core/event.ts'
import type { Parcel } from '../../core/parcel.ts'
import { isUrgent, rankOf } from '../../core/rank.ts'
import type { Instant } from '../../core/time.ts'
import { decodeTrail, encodeTrail, freshTrail, type Trail } from '../../core/trail.ts'
import type { Result } from './client.ts'
import type { Door } from './doors.ts'
import { wordOf } from './keys.ts'
import { PARKED } from './parcel-schema.ts'
import { RANKS } from './ranks.ts'

/** An event in the form of its columns. Made before anything is asked: what can't be written fails its caller only. */
export interface Written {
  /** As it is: the columns hold a word for it. */
  readonly type: string
  readonly eventId: string
  readonly source: string
  readonly ownKey: string | null
  readonly event: string
  readonly trail: string | null
  readonly data: Uint8Array | null
  readonly priority: Priority | undefined
  readonly spent: number
  readonly generation: number
}

export const writtenOf = (event: Event, trail: Trail = freshTrail): Written => {
  const { data, ...told } = event
  const { orderkey, priority } = event.extensions
  return {
    type: event.type,
    eventId: wordOf(event.id),
    source: wordOf(event.source),
    ownKey: orderkey === undefined ? null : wordOf(String(orderkey)),
    event: JSON.stringify(told),
    trail: writtenTrail(trail),
    data: data && Buffer.from(data),
    priority,
    spent: trail.spent,
    generation: trail.generation,
  }
}

export const writtenTrail = (trail: Trail): string | null =>
  trail === freshTrail ? null : encodeTrail(trail)

/** Whole milliseconds that leave room for what is parked; never earlier than asked. */
export const moment = (at: Instant): Instant => Math.min(Math.ceil(at), PARKED - 1)

/** At a destination there is none. */
export const rankAt = (door: Door, written: Written): number =>
  door.kind === 'destination' ? RANKS.fresh : RANKS[rankOf(written, door.urges)]

/** What the event itself says; null where it says nothing. */
export const urgentOf = ({ priority }: Written): boolean | null =>
  priority === undefined ? null : isUrgent(priority)

/** A parcel on its way to one door. */
export interface Addressed {
  readonly door: Door
  readonly written: Written
  readonly due: Instant
  /** Where the door keeps order for its type. */
  readonly orderKey: string | null
}

export const addressed = (door: Door, written: Written, due: Instant): Addressed => ({
  door,
  written,
  due: moment(due),
  orderKey: written.ownKey !== null && door.inOrder(written.type) ? written.ownKey : null,
})

export type Row = Result['rows'][number]

export const readEvent = (row: Row): Event => ({
  ...(JSON.parse(row.event as string) as Omit<Event, 'data'>),
  data: row.data === null ? null : new Uint8Array(row.data as Uint8Array),
})

export const readParcel = (row: Row): Parcel => ({
  event: readEvent(row),
  trail: row.trail === null ? freshTrail : decodeTrail(row.trail as string),
  // the client reads whole numbers of eight bytes as text
  due: Number(row.due),
})
