import type { Settled, Settlement } from '../../contracts/transport.ts'
import type { Outgoing } from '../../contracts/tx.ts'
import { endingOf, heldHere } from '../../core/ledger.ts'
import { mailOf } from '../../core/letter.ts'
import { checkDue, type Parcel } from '../../core/parcel.ts'
import type { Instant } from '../../core/time.ts'
import { holdKey } from './dead-keys.ts'
import { checkMarked, underSavepoint } from './effect.ts'
import type { File } from './file.ts'
import { endClaim, markDone } from './ledger.ts'
import { letNextGo } from './order.ts'
import { keepEvents } from './outbox.ts'
import {
  insertParcel,
  instant,
  rankAt,
  replaceData,
  type Written,
  writtenOf,
  writtenTrail,
} from './parcels.ts'
import { RANKS } from './ranks.ts'
import { type Door, hearing, type Subscriptions } from './subscriptions.ts'
import { dropExpired, type Handle, handleOf } from './taking.ts'

/** A settlement made ready: all that can fail for reasons of its own has been done. */
export interface Ready {
  readonly settlement: Settlement
  readonly handle: Handle
  /** The new home: the parcel put off, or what is sent to a destination. */
  readonly written?: Written
  /** Of a parcel put off that is otherwise as it was taken: only this changes. */
  readonly trail?: string | null
}

/** 'lost' for a delivery that is not of this file at all: it can't be ours. */
export const makeReady = (settlement: Settlement): Ready | 'lost' | Error => {
  const handle = handleOf(settlement.delivery)
  if (!handle) return 'lost'
  try {
    if (settlement.do === 'later') checkDue(settlement.parcel)
    if (settlement.do === 'later' && isAsTaken(settlement)) {
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

/** Nearly always: the row keeps its event. */
const isAsTaken = ({ delivery, parcel }: Extract<Settlement, { do: 'later' }>): boolean =>
  parcel.event === delivery.parcel.event

interface Room {
  readonly file: File
  readonly subscriptions: Subscriptions
  readonly door: Door
  readonly now: Instant
  /** Gathers the doors at which something may have become ready, or will sooner than was known. */
  readonly stirred: Set<number>
}

/** One settlement within the commit. Either all of it happens, the end of its claim included, or nothing. */
export const settleOne = (room: Room, ready: Ready): Settled => {
  const { settlement } = ready
  const effect = settlement.do === 'ack' ? settlement.effect : undefined
  if (!effect) return settlePlainly(room, ready)
  const answer = underSavepoint(room.file, (run) => {
    const settled = settlePlainly(room, ready)
    if (settled !== 'done') return settled
    if (!heldHere(settlement.delivery.claim)) checkMarked(markDone(room.file, effect.key, room.now))
    for (const outgoing of run(effect)) publishOne(room, outgoing)
    return 'done'
  })
  if (answer !== 'done') room.subscriptions.forget() // a destination may have been made, and undone
  return answer
}

const publishOne = ({ file, subscriptions, now, stirred }: Room, { topic, event }: Outgoing): void => {
  if (topic === undefined) {
    keepEvents(file, [event])
    return
  }
  const written = writtenOf(event)
  for (const door of hearing(subscriptions, topic, event.type)) {
    insertParcel(file, door, written, now)
    stirred.add(door.id)
  }
}

const settlePlainly = (room: Room, { settlement, handle, written, trail }: Ready): Settled => {
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
      if (!(holds(room, settlement, handle) || gone(room, handle))) return 'lost'
      send(room, settlement.to, written!)
      return 'done'
    case 'later':
      stirred.add(door.id)
      return putOff(room, handle, settlement.parcel, written ?? trail ?? null) ? 'done' : 'lost'
    case 'give back':
      stirred.add(door.id)
      return giveBack(file, handle) ? 'done' : 'lost'
  }
}

const GONE = 'DELETE FROM reprieve_parcel WHERE id = ? AND token = ? RETURNING order_key'

/** The row knows its order key: it may have been put in order while it was out. */
const gone = ({ file, door, stirred }: Room, { id, token }: Handle): boolean => {
  const row = file.sql(GONE).get(id, token)
  if (!row) return false
  if (row.order_key !== null) {
    letNextGo(file, door.id, row.order_key as string)
    stirred.add(door.id)
  }
  return true
}

/** The dead event's row stays and holds its order key. */
const holds = (
  { file }: Room,
  { holds: asked, letter }: Extract<Settlement, { do: 'bury' }>,
  handle: Handle,
): boolean =>
  asked === true && handle.orderKey !== null && holdKey(file, handle, letter.id, letter.trail.generation)

const send = ({ file, subscriptions, now, stirred }: Room, to: string, written: Written): void => {
  const destination = subscriptions.buryAt(to)
  dropExpired(file, destination, now)
  insertParcel(file, destination, written, now)
  stirred.add(destination.id)
}

/** The row stays, and with it the place of an ordered parcel; the token moves on, so that this was once. */
const PUT_OFF = 'UPDATE reprieve_parcel SET rank = ?, at = ?, due = ?, token = token + 1, trail = ?'
const OURS = 'WHERE id = ? AND token = ?'
const PUT_OFF_AS_TAKEN = `${PUT_OFF} ${OURS}`
const PUT_OFF_CHANGED = `${PUT_OFF},
  event = ?, source = ?, type = ?, attributes = ?, headers = ? ${OURS}`

const putOff = (
  { file, door }: Room,
  { id, token, rank }: Handle,
  parcel: Parcel,
  changed: Written | string | null,
): boolean => {
  const due = instant(parcel.due)
  if (changed === null || typeof changed === 'string') {
    const tried = parcel.trail.spent > 0 ? RANKS.retry : RANKS.fresh
    const ranked = rank === RANKS.urgent ? rank : tried
    return file.sql(PUT_OFF_AS_TAKEN).run(ranked, due, due, changed, id, token).changes === 1
  }
  const { id: event, source, type, attributes, headers, trail, data } = changed
  const { changes } = file
    .sql(PUT_OFF_CHANGED)
    .run(rankAt(door, changed), due, due, trail, event, source, type, attributes, headers, id, token)
  if (changes === 1) replaceData(file, id, data)
  return changes === 1
}

const GIVE_BACK = 'UPDATE reprieve_parcel SET at = due, token = token + 1 WHERE id = ? AND token = ?'

/** It was due already, so it is ready at once, and in its old place. */
export const giveBack = (file: File, { id, token }: Handle): boolean =>
  file.sql(GIVE_BACK).run(id, token).changes === 1

const EXTEND = 'UPDATE reprieve_parcel SET at = ? WHERE id = ? AND token = ?'

export const extendLease = (file: File, { id, token }: Handle, until: Instant): boolean =>
  file.sql(EXTEND).run(instant(until), id, token).changes === 1
