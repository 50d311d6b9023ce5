import type { Delivery } from '../../contracts/transport.ts'
import type { Instant } from '../../core/time.ts'
import { HANDLE, handleOf, type Taken } from './taking.ts'

/** What an inlet has taken and not settled, so that never more than its window is out. */
export interface Holding {
  /** How many more may be taken; what ran out is no longer ours and does not count. */
  slots(now: Instant): number
  add(taken: readonly Taken[]): void
  /** Answers with those that were held. */
  remove(deliveries: readonly Delivery[]): readonly Taken[]
  all(): readonly Taken[]
}

export const holdingOf = (window: number): Holding => {
  const held = new Map<number, Taken>()
  return {
    slots: (now) => {
      if (held.size >= window) {
        for (const [id, taken] of held) if (taken[HANDLE].until <= now) held.delete(id)
      }
      return window - held.size
    },
    add: (taken) => {
      for (const each of taken) held.set(each[HANDLE].id, each)
    },
    remove: (deliveries) =>
      deliveries.flatMap((delivery) => {
        const handle = handleOf(delivery)
        const taken = handle && held.get(handle.id)
        if (!taken || taken[HANDLE].token !== handle.token) return []
        held.delete(handle.id)
        return [taken]
      }),
    all: () => [...held.values()],
  }
}
