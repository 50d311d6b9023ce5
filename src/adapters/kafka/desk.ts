import type { Settlement } from '../../contracts/transport.ts'
import { letterEvent, receiptEvent } from '../../core/letter.ts'
import { keyOf } from './batches.ts'
import type { Door, Group } from './group.ts'
import type { Slot } from './holding.ts'
import { eventRecord, type Outgoing, parcelRecord } from './outgoing.ts'
import type { Post } from './post.ts'
import type { Topics } from './topics.ts'
import type { Transactions } from './transactions.ts'
import type { Wire } from './wire.ts'

export interface Desk {
  readonly wire: Wire
  readonly group: Group
  readonly door: Door
  readonly post: Post
  /** Where the rules ask for it: new homes and the commit are one. */
  readonly transactions?: Transactions
  readonly topics: Topics
  slotOf(delivery: Settlement['delivery']): Slot | undefined
}

export interface Entry {
  readonly index: number
  readonly slot: Slot
  readonly settlement: Settlement
}

export const stillOurs = (desk: Desk, slot: Slot): boolean => {
  if (!slot.tenure.over) return true
  release(desk, slot)
  return false
}

export const release = ({ door }: Desk, slot: Slot) => {
  if (slot.holder !== door) return
  slot.holder = undefined
  door.out--
  if (slot.tenure.parcels) door.retrying--
}

/** The record that settles it, where one is needed. */
export const homeOf = ({ group, door, wire }: Desk, { slot, settlement }: Entry): Outgoing | undefined => {
  switch (settlement.do) {
    case 'later': {
      const { parcel } = settlement
      const topic = group.later(parcel.due - wire.tools.clock.now())
      return parcelRecord(topic, door.topic, parcel, slot.record && keyOf(slot.record))
    }
    case 'bury':
      return eventRecord(settlement.to, letterEvent(settlement.letter))
    case 'ack':
      return settlement.receipt && eventRecord(settlement.receipt.to, receiptEvent(settlement.receipt))
    case 'give back':
      return undefined
  }
}

/** A record, and what it settles. */
export interface Moving {
  readonly entry: Entry
  readonly record: Outgoing
}

/** Topics first: one that was deleted meanwhile may come back with other partitions than it had. */
export const makeReady = async ({ group, topics }: Desk, moving: readonly Moving[]): Promise<void> => {
  await group.ready([...new Set(moving.map(({ record }) => record.topic))])
  for (const { entry, record } of moving) {
    const { record: original, tenure } = entry.slot
    if (entry.settlement.do !== 'later' || !original || !keyOf(original)) continue
    // whoever wrote it may deal out keys in another way than we do: a key keeps its partition
    if (tenure.partition < topics.partitions(record.topic)) record.partition = tenure.partition
  }
}
