import type { Settlement } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { mailOf } from '../../core/letter.ts'
import { checkDue } from '../../core/parcel.ts'
import { type Handle, handleOf } from './holding.ts'
import { type Written, writtenOf, writtenTrail } from './parcels.ts'

/** A settlement made ready: all that can fail for reasons of its own has been done. */
export interface Ready {
  readonly settlement: Settlement
  readonly handle: Handle
  /** The new home: the parcel put off, or what is sent to a destination. */
  readonly written?: Written
  /** Of a parcel put off that is otherwise as it was taken: only this changes. */
  readonly trail?: string | null
}

/** 'lost' for a delivery that is not of this database at all: it can't be ours. */
export const makeReady = (settlement: Settlement): Ready | 'lost' | Error => {
  const handle = handleOf(settlement.delivery)
  if (!handle) return 'lost'
  if (settlement.do === 'ack' && settlement.effect) return noEffects()
  try {
    if (settlement.do === 'later') checkDue(settlement.parcel)
    if (settlement.do === 'later' && settlement.parcel.event === settlement.delivery.parcel.event) {
      return { settlement, handle, trail: writtenTrail(settlement.parcel.trail) }
    }
    const written = writtenFor(settlement)
    return written ? { settlement, handle, written } : { settlement, handle }
  } catch (error) {
    return error as Error
  }
}

const writtenFor = (settlement: Settlement): Written | undefined => {
  if (settlement.do === 'later') return writtenOf(settlement.parcel.event, settlement.parcel.trail)
  const mail = mailOf(settlement)
  return mail && writtenOf(mail.event)
}

/** Nobody holds a transaction open here while a handler works: its effects are in the user's own. */
const noEffects = (): ReprieveError =>
  new ReprieveError('bad_usage', 'PostgreSQL as a transport takes no effect into its commit', {
    fix: 'give the app the database that the effect is in: reprieve({ tx: postgresTx(pool) })',
  })

/** Where letters and receipts of these go. */
export const destinationsOf = (batch: readonly Ready[]): ReadonlySet<string> =>
  new Set(batch.flatMap(({ settlement }) => destinationOf(settlement) ?? []))

export const destinationOf = (settlement: Settlement): string | undefined => {
  if (settlement.do === 'bury') return settlement.to
  return settlement.do === 'ack' ? settlement.receipt?.to : undefined
}
