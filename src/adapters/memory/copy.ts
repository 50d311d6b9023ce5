import type { Event } from '../../core/event.ts'
import type { Parcel } from '../../core/parcel.ts'

/** What goes in is copied, as on any wire: the sender may go on and use its bytes for something else. */
export const copyOf = (parcel: Parcel): Parcel => ({ ...parcel, event: copyOfEvent(parcel.event) })

const copyOfEvent = (event: Event): Event => ({
  ...event,
  extensions: { ...event.extensions },
  headers: { ...event.headers },
  data: event.data && Uint8Array.from(event.data),
})
