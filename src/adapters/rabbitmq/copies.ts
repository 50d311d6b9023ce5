import type { Settlement } from '../../contracts/transport.ts'
import { mailOf } from '../../core/letter.ts'
import { checkDue, type Parcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import { tierFor } from './names.ts'
import { type Outgoing, writeEvent, writeParcel } from './write.ts'

export interface Home {
  readonly queue: string
  /** The exchange that knows the destinations by name. */
  readonly burial: string
  /** What the queue itself does with a message that is rejected: it dead-letters it there. */
  readonly net?: { readonly service: string; readonly topic: string; readonly destination: string }
}

/** The copy that must be durable before the delivery is given up, if there has to be one. */
export const copyOf = (settlement: Settlement, home: Home, now: Instant): Outgoing | undefined => {
  if (settlement.do === 'later') {
    checkDue(settlement.parcel)
    const { broken, redelivered } = settlement.delivery
    return { ...parcelTo(home.queue, settlement.parcel, now, broken, redelivered), of: settlement }
  }
  const mail = mailOf(settlement)
  const exchange = settlement.do === 'bury' ? home.burial : ''
  return mail && { ...writeEvent(mail.event, { exchange, key: mail.to }), of: settlement }
}

/** To one queue and no other: at once by the default exchange, later through a tier. */
export const parcelTo = (
  queue: string,
  parcel: Parcel,
  now: Instant,
  broken?: string,
  again = false,
): Outgoing => {
  const wait = parcel.due - now
  const to = { exchange: '', key: queue }
  return writeParcel(parcel, wait > 0 ? { ...to, tier: tierFor(wait) } : to, broken, again)
}
