import type { Delivery } from '../../contracts/transport.ts'
import type { Instant } from '../../core/time.ts'
import { RANKS } from './ranks.ts'

/** What of a delivery stays in here. It rides on the delivery itself, so that a copy of one can be settled too. */
export interface Handle {
  readonly id: string
  readonly token: number
  readonly rank: number
  until: Instant
}

export const HANDLE = Symbol('postgres handle')

export interface Taken extends Delivery {
  readonly [HANDLE]: Handle
}

export const handleOf = (delivery: Delivery): Handle | undefined => (delivery as Partial<Taken>)[HANDLE]

/** What an inlet has taken and not settled, so that never more than its window is out. */
export interface Holding {
  /** How many more may be taken; what ran out is no longer ours and does not count. */
  slots(now: Instant): number
  /** How many of them are retries. */
  retrying(): number
  add(taken: readonly Taken[]): void
  remove(deliveries: readonly Delivery[]): void
  all(): readonly Taken[]
}

export const holdingOf = (window: number): Holding => {
  const held = new Map<Handle, Taken>()
  let retrying = 0
  const drop = (handle: Handle): void => {
    if (held.delete(handle) && handle.rank === RANKS.retry) retrying--
  }
  return {
    slots: (now) => {
      if (held.size >= window) for (const handle of held.keys()) if (handle.until <= now) drop(handle)
      return window - held.size
    },
    retrying: () => retrying,
    add: (taken) => {
      for (const each of taken) {
        held.set(each[HANDLE], each)
        if (each[HANDLE].rank === RANKS.retry) retrying++
      }
    },
    remove: (deliveries) => {
      for (const delivery of deliveries) {
        const handle = handleOf(delivery)
        if (handle) drop(handle)
      }
    },
    all: () => [...held.values()],
  }
}
