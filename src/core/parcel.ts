import type { Event } from './event.ts'
import type { Instant } from './time.ts'
import { freshTrail, type Trail } from './trail.ts'

/** An event with its trail on its way to one subscription, not to be handed over before it is due. */
export interface Parcel {
  readonly event: Event
  readonly trail: Trail
  readonly due: Instant
}

export const freshParcel = (event: Event, due: Instant): Parcel => ({ event, trail: freshTrail, due })

/** The id under which a copy of the event travels: doubles that a crash makes have the same one. */
export const copyId = ({ event, trail }: Parcel): string =>
  trail.generation === 0 ? `${event.id}#${trail.spent}` : `${event.id}#${trail.generation}.${trail.spent}`
