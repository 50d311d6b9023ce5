import type { Address, Inlet, Settlement, Subscription, Transport } from '../contracts/transport.ts'
import type { Event } from '../core/event.ts'
import type { Letter } from '../core/letter.ts'
import { isInOrder } from '../core/ordering.ts'
import type { Parcel } from '../core/parcel.ts'
import { matches } from '../core/pattern.ts'

/** What is on its way, seen from outside: every parcel that was taken in and has not come to its end. */
export interface Pending {
  readonly transport: Transport
  /** Ids of events that are waiting or out, as often as there are parcels of them. */
  events(): readonly string[]
  /** Letters buried so far, oldest first. */
  readonly letters: readonly Letter[]
  /** Resolves when nothing is on its way; at once, if that is so. What is held behind a dead letter goes nowhere. */
  idle(): Promise<void>
}

/** Counts by what is asked of the transport and what it answers; it must be the only way to that transport. */
export const watchPending = (transport: Transport): Pending => {
  const doors = new Map<string, Subscription>()
  /** By event, and for all that lies at destinations which somebody collects. */
  const counts = new Map<string, number>()
  const collected = new Set<string>()
  const letters: Letter[] = []
  const waiters: (() => void)[] = []

  /** Of all that is counted, what has an order key, by that; and the letters that hold such keys. */
  const lines = new Map<string, number>()
  const heldBy = new Map<string, string>()
  let total = 0

  const isIdle = (): boolean => {
    let held = 0
    for (const line of heldBy.keys()) held += lines.get(line) ?? 0
    return total === held
  }
  const look = (): void => {
    if (isIdle()) for (const wake of waiters.splice(0)) wake()
  }
  const change = (map: Map<string, number>, name: string, by: number): void => {
    const count = (map.get(name) ?? 0) + by
    if (count > 0) map.set(name, count)
    else map.delete(name)
  }
  const add = (id: string, by: number, line?: string): void => {
    total += by
    change(counts, id, by)
    if (line !== undefined) change(lines, line, by)
    look()
  }
  const addAt = (destination: string): void => {
    if (collected.has(destination)) add(nameOf(destination), 1)
  }

  const ended = (to: Subscription, settlement: Settlement): void => {
    const { event } = settlement.delivery.parcel
    const line = lineOf(to, event)
    if (settlement.do === 'ack' && settlement.receipt) addAt(settlement.receipt.to)
    if (settlement.do === 'bury') {
      letters.push(settlement.letter)
      addAt(settlement.to)
      if (settlement.holds && line !== undefined) heldBy.set(line, settlement.letter.id)
    }
    if (settlement.do === 'ack' || settlement.do === 'bury') add(event.id, -1, line)
  }

  const watched = (inlet: Inlet, seen: (settlement: Settlement) => void): Inlet => ({
    ...inlet,
    settle: async (batch) => {
      const answers = await inlet.settle(batch)
      for (const [i, answer] of answers.entries()) if (answer === 'done') seen(batch[i]!)
      return answers
    },
  })

  /** Counted before it is there: it may come to its end before we hear that it was taken in. */
  const taking = async (all: readonly Taking[], go: () => Promise<void>): Promise<void> => {
    for (const { id, line } of all) add(id, 1, line)
    try {
      await go()
    } catch (error) {
      for (const { id, line } of all) add(id, -1, line)
      throw error
    }
  }
  const hearing = (topic: string, event: Event): readonly Taking[] =>
    [...doors.values()]
      .filter((to) => matches(to.topic, topic) && to.types.some((each) => matches(each, event.type)))
      .map((to) => ({ id: event.id, line: lineOf(to, event) }))
  /** What stands in the line of its key already is passed over there, unless it comes in the place of the dead. */
  const forwarding = (to: Address, { event, trail }: Parcel): readonly Taking[] => {
    const door = doors.get(doorName(to))
    const line = door && lineOf(door, event)
    if (line === undefined) return [{ id: event.id, line }]
    if (trail.replay && heldBy.get(line) === trail.replay.letter) heldBy.delete(line)
    else if (counts.has(event.id)) return []
    return [{ id: event.id, line }]
  }

  return {
    transport: {
      ...transport,
      subscribe: async (to) => {
        const inlet = await transport.subscribe(to)
        doors.set(doorName(to), to)
        return watched(inlet, (settlement) => ended(to, settlement))
      },
      collect: async (destination) => {
        const inlet = await transport.collect(destination)
        collected.add(destination.name)
        return watched(inlet, () => add(nameOf(destination.name), -1))
      },
      publish: (topic, events) =>
        taking(
          events.flatMap((event) => hearing(topic, event)),
          () => transport.publish(topic, events),
        ),
      forward: (to, parcels) =>
        taking(
          parcels.flatMap((parcel) => forwarding(to, parcel)),
          () => transport.forward(to, parcels),
        ),
      release: async (to, keys) => {
        await transport.release?.(to, keys)
        for (const { orderKey, letter } of keys) {
          const line = lineName(to, orderKey)
          if (heldBy.get(line) === letter) heldBy.delete(line)
        }
      },
    },
    events: () => [...counts].flatMap(([id, count]) => new Array<string>(Math.max(0, count)).fill(id)),
    letters,
    idle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  }
}

interface Taking {
  readonly id: string
  readonly line: string | undefined
}

const doorName = ({ service, topic }: Address): string => JSON.stringify([service, topic])
const lineName = ({ service, topic }: Address, orderKey: string): string =>
  JSON.stringify([service, topic, orderKey])
const lineOf = (to: Subscription, { type, extensions: { orderkey } }: Event): string | undefined =>
  to.order === 'key' && orderkey !== undefined && isInOrder(to.ordering, type)
    ? lineName(to, String(orderkey))
    : undefined

const nameOf = (destination: string): string => `destination ${destination}`
