import type { Settled, Settlement } from '../../contracts/transport.ts'
import { mailOf } from '../../core/letter.ts'
import { checkDue } from '../../core/parcel.ts'
import { keyOf } from './batches.ts'
import { isRefusal, unavailable } from './errors.ts'
import type { Door, Group } from './group.ts'
import { AGAIN } from './headers.ts'
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
const homeOf = ({ group, door, wire }: Desk, { slot, settlement }: Entry): Outgoing | undefined => {
  if (settlement.do === 'later') {
    const { parcel } = settlement
    checkDue(parcel)
    const topic = group.later(parcel.due - wire.tools.clock.now())
    const marks = slot.redelivered ? { [AGAIN]: '1' } : undefined
    return parcelRecord(topic, door.topic, parcel, slot.record && keyOf(slot.record), marks)
  }
  const mail = mailOf(settlement)
  return mail && eventRecord(mail.to, mail.event)
}

/** A record, and what it settles. */
export interface Moving {
  readonly entry: Entry
  readonly record: Outgoing
}

/** It stays out, and may be settled again; by whoever is next, where its inlet was closed meanwhile. */
export const refuse = ({ slot, index }: Entry, error: Error, answers: Settled[]) => {
  slot.state = 'out'
  if (!slot.holder) slot.tenure.giveBack(slot)
  answers[index] = error
}

/**
 * Those that need a new home, each with its record and a topic that is there to take it, and those that need none. What
 * can't be written, or has nowhere to go, is answered by itself.
 */
export const prepare = async (desk: Desk, entries: readonly Entry[], answers: Settled[]) => {
  const moving: Moving[] = []
  const others: Entry[] = []
  for (const entry of entries) {
    try {
      const record = entry.slot.housed ? undefined : homeOf(desk, entry)
      if (record) moving.push({ entry, record })
      else others.push(entry)
    } catch (error) {
      refuse(entry, error as Error, answers)
    }
  }
  if (moving.length === 0) return { moving, others }
  const errors = await unready(desk, [...new Set(moving.map(({ record }) => record.topic))])
  for (const { entry, record } of moving) {
    const error = errors.get(record.topic)
    if (error) refuse(entry, error, answers)
  }
  const ready = moving.filter(({ record }) => !errors.has(record.topic))
  keepPartitions(desk, ready)
  return { moving: ready, others }
}

/**
 * Which topics can't be made ready, and why. Asked for together they share one error: where brokers refused, each is
 * asked for by itself, and where nobody answered, one wait is enough.
 */
const unready = async (
  { group, wire }: Desk,
  names: readonly string[],
): Promise<ReadonlyMap<string, Error>> => {
  const ask = (some: readonly string[]): Promise<Error | undefined> =>
    group.ready(some).then(
      () => undefined,
      (error: unknown) => unavailable(wire.settings.brokers, 'settling', error),
    )
  const together = await ask(names)
  if (!together) return new Map()
  const alone = names.length > 1 && isRefusal(together)
  const errors = alone ? await Promise.all(names.map((name) => ask([name]))) : names.map(() => together)
  return new Map(names.flatMap((name, i) => (errors[i] ? [[name, errors[i]] as const] : [])))
}

/** After the topics are there: one that was deleted meanwhile may come back with other partitions than it had. */
const keepPartitions = ({ topics }: Desk, moving: readonly Moving[]): void => {
  for (const { entry, record } of moving) {
    const { record: original, tenure } = entry.slot
    if (entry.settlement.do !== 'later' || !original || !keyOf(original)) continue
    // whoever wrote it may deal out keys in another way than we do: a key keeps its partition
    if (tenure.partition < topics.partitions(record.topic)) record.partition = tenure.partition
  }
}
