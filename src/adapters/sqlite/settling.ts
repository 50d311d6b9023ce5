import type { Settled, Settlement } from '../../contracts/transport.ts'
import { endingOf, heldHere } from '../../core/ledger.ts'
import { letterEvent, receiptEvent } from '../../core/letter.ts'
import type { Instant } from '../../core/time.ts'
import type { File } from './file.ts'
import { endClaim } from './ledger.ts'
import { letNextGo } from './order.ts'
import { insertParcel, instant, type Written, writtenOf } from './parcels.ts'
import type { Door, Subscriptions } from './subscriptions.ts'
import { dropExpired, type Handle, handleOf } from './taking.ts'

/** A settlement made ready: all that can fail for reasons of its own has been done. */
export interface Ready {
  readonly settlement: Settlement
  readonly handle: Handle
  /** The new home: the parcel put off, or what is sent to a destination. */
  readonly written?: Written
}

/** 'lost' for a delivery that is not of this file at all: it can't be ours. */
export const makeReady = (settlement: Settlement): Ready | 'lost' | Error => {
  const handle = handleOf(settlement.delivery)
  if (!handle) return 'lost'
  try {
    const written = writtenFor(settlement)
    return written ? { settlement, handle, written } : { settlement, handle }
  } catch (error) {
    return error as Error
  }
}

const writtenFor = (settlement: Settlement): Written | undefined => {
  if (settlement.do === 'later') return writtenOf(settlement.parcel.event, settlement.parcel.trail)
  if (settlement.do === 'bury') return writtenOf(letterEvent(settlement.letter))
  if (settlement.do === 'ack' && settlement.receipt) return writtenOf(receiptEvent(settlement.receipt))
  return undefined
}

interface Room {
  readonly file: File
  readonly subscriptions: Subscriptions
  readonly door: Door
  readonly now: Instant
  /** Gathers the doors at which something may have become ready, or will sooner than was known. */
  readonly stirred: Set<number>
}

/** One settlement within the commit. Either all of it happens, the end of its claim included, or nothing. */
export const settleOne = (room: Room, { settlement, handle, written }: Ready): Settled => {
  const { file, door, now, stirred } = room
  const { claim, parcel } = settlement.delivery
  const held = heldHere(claim)
  const ours = held && endClaim(file, held, endingOf(settlement, parcel.trail), now, handle)
  if (ours === false) return 'lost'
  switch (settlement.do) {
    case 'ack':
      if (!gone(room, handle)) return 'lost'
      if (settlement.receipt) send(room, settlement.receipt.to, written!)
      return 'done'
    case 'bury':
      if (!gone(room, handle)) return 'lost'
      send(room, settlement.to, written!)
      return 'done'
    case 'later':
      stirred.add(door.id)
      return putOff(file, handle, written!, settlement.parcel.due) ? 'done' : 'lost'
    case 'give back':
      stirred.add(door.id)
      return giveBack(file, handle) ? 'done' : 'lost'
  }
}

const GONE = 'DELETE FROM reprieve_parcel WHERE id = ? AND token = ?'

const gone = ({ file, door, stirred }: Room, { id, token, orderKey }: Handle): boolean => {
  if (file.sql(GONE).run(id, token).changes === 0) return false
  if (orderKey !== null) {
    letNextGo(file, door.id, orderKey)
    stirred.add(door.id)
  }
  return true
}

const send = ({ file, subscriptions, now, stirred }: Room, to: string, written: Written): void => {
  const destination = subscriptions.buryAt(to)
  dropExpired(file, destination, now)
  insertParcel(file, destination, written, now)
  stirred.add(destination.id)
}

/** The row stays, and with it the place of an ordered parcel; the token moves on, so that this was once. */
const PUT_OFF = `
UPDATE reprieve_parcel SET at = ?, due = ?, token = token + 1,
  event = ?, source = ?, type = ?, attributes = ?, headers = ?, trail = ?, data = ?
WHERE id = ? AND token = ?`

const putOff = (file: File, { id, token }: Handle, written: Written, at: Instant): boolean => {
  const due = instant(at)
  const { id: event, source, type, attributes, headers, trail, data } = written
  return (
    file.sql(PUT_OFF).run(due, due, event, source, type, attributes, headers, trail, data, id, token)
      .changes === 1
  )
}

const GIVE_BACK = 'UPDATE reprieve_parcel SET at = due, token = token + 1 WHERE id = ? AND token = ?'

/** It was due already, so it is ready at once, and in its old place. */
export const giveBack = (file: File, { id, token }: Handle): boolean =>
  file.sql(GIVE_BACK).run(id, token).changes === 1

const EXTEND = 'UPDATE reprieve_parcel SET at = ? WHERE id = ? AND token = ?'

export const extendLease = (file: File, { id, token }: Handle, until: Instant): boolean =>
  file.sql(EXTEND).run(instant(until), id, token).changes === 1
