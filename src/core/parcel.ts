import { ReprieveError } from './error.ts'
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

/** Throws `bad_event` where it says no time: each transport would make something else of that. */
export const checkDue = ({ event, due }: Parcel): void => {
  if (!Number.isNaN(due)) return
  throw new ReprieveError('bad_event', `event ${event.id}: it is put off until no time at all`, {
    fix: 'give the time in milliseconds: what works out the wait has answered with no number',
  })
}
