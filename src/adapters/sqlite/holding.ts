import type { Delivery } from '../../contracts/transport.ts'
import type { Instant } from '../../core/time.ts'
import { RANKS } from './ranks.ts'
import { HANDLE, type Handle, handleOf, NOWHERE, type Taken } from './taking.ts'

/** What an inlet has taken and not settled, so that never more than its window is out. */
export interface Holding {
  /** How many more may be taken; what ran out is no longer ours and does not count. */
  slots(now: Instant): number
  add(taken: readonly Taken[]): void
  /** How many of them are retries. */
  retrying(): number
  /** Answers with those that were held. */
  remove(deliveries: readonly Delivery[]): readonly Taken[]
  all(): readonly Taken[]
}

export const holdingOf = (window: number): Holding => {
  // no Map: one that lives as long as this keeps each table it outgrew, and all it held, until a full collection
  const held: Taken[] = []
  let retrying = 0
  const drop = (handle: Handle): readonly Taken[] => {
    const { place } = handle
    const taken = held[place]
    if (taken?.[HANDLE] !== handle) return []
    const last = held.pop()!
    if (last !== taken) {
      held[place] = last
      last[HANDLE].place = place
    }
    handle.place = NOWHERE
    if (handle.rank === RANKS.retry) retrying--
    return [taken]
  }
  return {
    slots: (now) => {
      if (held.length >= window) {
        for (const { [HANDLE]: handle } of [...held]) if (handle.until <= now) drop(handle)
      }
      return window - held.length
    },
    add: (taken) => {
      for (const each of taken) {
        each[HANDLE].place = held.push(each) - 1
        if (each[HANDLE].rank === RANKS.retry) retrying++
      }
    },
    retrying: () => retrying,
    remove: (deliveries) =>
      deliveries.flatMap((delivery) => {
        const handle = handleOf(delivery)
        return handle ? drop(handle) : []
      }),
    all: () => [...held],
  }
}
