import type { Inlet, Settlement, Subscription, Transport } from '../contracts/transport.ts'
import type { Event } from '../core/event.ts'
import type { Letter } from '../core/letter.ts'
import { matches } from '../core/pattern.ts'

/** What is on its way, seen from outside: every parcel that was taken in and has not come to its end. */
export interface Pending {
  readonly transport: Transport
  /** Ids of events that are waiting or out, as often as there are parcels of them. */
  events(): readonly string[]
  /** Letters buried so far, oldest first. */
  readonly letters: readonly Letter[]
  /** Resolves when nothing is on its way; at once, if that is so. */
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

  const add = (id: string, change: number): void => {
    const count = (counts.get(id) ?? 0) + change
    if (count > 0) counts.set(id, count)
    else counts.delete(id)
    if (counts.size === 0) for (const wake of waiters.splice(0)) wake()
  }
  const addAt = (destination: string): void => {
    if (collected.has(destination)) add(nameOf(destination), 1)
  }

  const ended = (settlement: Settlement): void => {
    const { id } = settlement.delivery.parcel.event
    if (settlement.do === 'ack' && settlement.receipt) addAt(settlement.receipt.to)
    if (settlement.do === 'bury') {
      letters.push(settlement.letter)
      addAt(settlement.to)
    }
    if (settlement.do === 'ack' || settlement.do === 'bury') add(id, -1)
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
  const taking = async (ids: readonly string[], go: () => Promise<void>): Promise<void> => {
    for (const id of ids) add(id, 1)
    try {
      await go()
    } catch (error) {
      for (const id of ids) add(id, -1)
      throw error
    }
  }
  const hearing = (topic: string, { id, type }: Event): readonly string[] =>
    [...doors.values()]
      .filter((to) => matches(to.topic, topic) && to.types.some((each) => matches(each, type)))
      .map(() => id)

  return {
    transport: {
      ...transport,
      subscribe: async (to) => {
        const inlet = await transport.subscribe(to)
        doors.set(JSON.stringify([to.service, to.topic]), to)
        return watched(inlet, ended)
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
          parcels.map(({ event }) => event.id),
          () => transport.forward(to, parcels),
        ),
    },
    events: () => [...counts].flatMap(([id, count]) => new Array<string>(count).fill(id)),
    letters,
    idle: () => (counts.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  }
}

const nameOf = (destination: string): string => `destination ${destination}`
