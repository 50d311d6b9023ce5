import type { Settled, Settlement } from '../../contracts/transport.ts'
import { letterEvent, receiptEvent } from '../../core/letter.ts'
import { keyOf } from './batches.ts'
import { unavailable } from './errors.ts'
import type { Door, Group } from './group.ts'
import type { Slot } from './holding.ts'
import { eventRecord, type Outgoing, parcelRecord } from './outgoing.ts'
import type { Post } from './post.ts'
import type { Topics, WantedTopic } from './topics.ts'
import type { Wire } from './wire.ts'

export interface Desk {
  readonly wire: Wire
  readonly group: Group
  readonly door: Door
  readonly post: Post
  readonly topics: Topics
  destination(name: string): WantedTopic
  slotOf(delivery: Settlement['delivery']): Slot | undefined
}

interface Entry {
  readonly index: number
  readonly slot: Slot
  readonly settlement: Settlement
}

/**
 * New home first, commit last: at most one load of records and one commit for the whole batch. An entry that
 * fails stays out and may be settled again.
 */
export const settleBatch = async (desk: Desk, batch: readonly Settlement[]): Promise<readonly Settled[]> => {
  const answers: Settled[] = new Array(batch.length).fill('lost')
  const entries = desk.door.closed ? [] : claim(desk, batch)
  if (entries.length === 0) return answers
  const end = desk.group.member.settling()
  try {
    await desk.group.member.steady()
    const ours = entries.filter(({ slot }) => stillOurs(desk, slot))
    const finished = ours.filter(({ slot }) => slot.uncommitted)
    const unfinished = finished.length === 0 ? ours : ours.filter(({ slot }) => !slot.uncommitted)
    for (const entry of await house(desk, unfinished, answers)) {
      if (!stillOurs(desk, entry.slot)) continue
      if (entry.settlement.do === 'give back') {
        release(desk, entry.slot)
        entry.slot.tenure.giveBack(entry.slot)
        answers[entry.index] = 'done'
      } else finished.push(entry)
    }
    await commit(desk, finished, answers)
    return answers
  } finally {
    end()
  }
}

/** Two settlements of one delivery, even in one batch: the second is lost. */
const claim = (desk: Desk, batch: readonly Settlement[]): readonly Entry[] => {
  const entries: Entry[] = []
  for (let index = 0; index < batch.length; index++) {
    const settlement = batch[index]!
    const slot = desk.slotOf(settlement.delivery)
    if (!slot || slot.holder !== desk.door) continue
    if (slot.state === 'out') slot.state = 'settling'
    else if (!slot.uncommitted || entries.some((entry) => entry.slot === slot)) continue
    entries.push({ index, slot, settlement })
  }
  return entries
}

const stillOurs = (desk: Desk, slot: Slot): boolean => {
  if (!slot.tenure.over) return true
  release(desk, slot)
  return false
}

const release = ({ door }: Desk, slot: Slot) => {
  if (slot.holder !== door) return
  slot.holder = undefined
  door.out--
}

/** Makes the new homes durable; answers with the entries that may go on. */
const house = async (
  desk: Desk,
  entries: readonly Entry[],
  answers: Settled[],
): Promise<readonly Entry[]> => {
  const moving: Entry[] = []
  const records: Outgoing[] = []
  for (const entry of entries) {
    const record = entry.slot.housed ? undefined : homeOf(desk, entry)
    if (!record) continue
    moving.push(entry)
    records.push(record)
  }
  if (records.length === 0) return entries
  const errors = await send(desk, records)
  const failed = new Set<Entry>()
  moving.forEach((entry, i) => {
    const error = errors[i]
    if (!error) entry.slot.housed = true
    else {
      failed.add(entry)
      entry.slot.state = 'out'
      answers[entry.index] = error
    }
  })
  return entries.filter((entry) => !failed.has(entry))
}

const send = async ({ topics, post, destination, wire }: Desk, records: readonly Outgoing[]) => {
  try {
    await topics.ensure([...new Set(records.map(({ topic }) => topic))].map(destination))
  } catch (error) {
    const reason = unavailable(wire.settings.brokers, 'settling', error)
    return records.map(() => reason)
  }
  return post.send(records)
}

const homeOf = ({ group, door, wire, topics }: Desk, { slot, settlement }: Entry): Outgoing | undefined => {
  switch (settlement.do) {
    case 'later': {
      const { parcel } = settlement
      const topic = group.later(parcel.due - wire.tools.clock.now())
      const key = slot.record && keyOf(slot.record)
      const record = parcelRecord(topic, door.topic, parcel, key)
      // whoever wrote it may deal out keys in another way than we do: a key keeps its partition
      if (key && slot.tenure.partition < topics.partitions(topic)) record.partition = slot.tenure.partition
      return record
    }
    case 'bury':
      return eventRecord(settlement.to, letterEvent(settlement.letter))
    case 'ack':
      return settlement.receipt && eventRecord(settlement.receipt.to, receiptEvent(settlement.receipt))
    case 'give back':
      return undefined
  }
}

const commit = async (desk: Desk, entries: readonly Entry[], answers: Settled[]): Promise<void> => {
  if (entries.length === 0) return
  const tenures = new Set(entries.map(({ slot }) => slot.tenure))
  for (const { slot } of entries) if (!slot.uncommitted) slot.tenure.finish(slot)
  const outcomes = await desk.group.member.commits.flush(tenures)
  for (const { slot, index } of entries) {
    const outcome = outcomes.get(slot.tenure) ?? 'fenced'
    slot.uncommitted = outcome !== 'done' && outcome !== 'fenced'
    if (outcome === 'done') answers[index] = 'done'
    else if (outcome !== 'fenced')
      answers[index] = unavailable(desk.wire.settings.brokers, 'committing', outcome)
    if (!slot.uncommitted) release(desk, slot)
  }
}
