import type { Box } from '../../adapters/memory/box.ts'
import type { Parcel } from '../../core/parcel.ts'
import { settling } from './faulty-inlets.ts'
import type { Plant } from './plant.ts'

/** Bugs in what waits behind dead letters. */
export const HOLD_BUGS: readonly Plant[] = [
  {
    name: 'hold ignored',
    what: 'a dead event does not hold its order key',
    breaks: ['I6'],
    transport: settling((settlement) => {
      if (settlement.do !== 'bury') return settlement
      const { holds: _, ...plain } = settlement
      return plain
    }),
  },
  {
    name: 'freed by the replay',
    what: 'what waits behind a dead letter goes on when its replay begins, not when that has ended well',
    breaks: ['I6'],
    under: (transport) => ({
      ...transport,
      forward: (to, parcels) => {
        for (const { event, trail } of parcels) {
          const { orderkey } = event.extensions
          if (!trail.replay || orderkey === undefined) continue
          void transport.release?.(to, [{ orderKey: orderkey, letter: trail.replay.letter }])
        }
        return transport.forward(to, parcels)
      },
    }),
  },
  {
    name: 'freed the newest first',
    what: 'what came while its key was held goes on in the wrong order',
    breaks: ['I6'],
    box: (box) => newestFirst(box),
  },
  {
    name: 'held for ever',
    what: 'a letter that is given up goes on holding its key',
    breaks: ['I1'],
    under: (transport) => ({ ...transport, release: async () => undefined }),
  },
]

const newestFirst = (box: Box): void => {
  const { put, hold, remove, release } = box
  /** By order key: what came since it is held. */
  const late = new Map<string, Parcel[]>()
  const letGo = (orderKey: string | undefined, now: number): void => {
    const parcels = orderKey === undefined ? undefined : late.get(orderKey)
    late.delete(orderKey ?? '')
    for (const parcel of parcels?.toReversed() ?? []) put(parcel, now)
  }
  box.hold = (item, ...rest) => {
    hold(item, ...rest)
    const { orderkey } = item.parcel.event.extensions
    if (orderkey !== undefined && !late.has(orderkey)) late.set(orderkey, [])
  }
  box.put = (parcel, now) => {
    const waiting = late.get(parcel.event.extensions.orderkey ?? '')
    if (waiting) waiting.push(parcel)
    else put(parcel, now)
  }
  box.remove = (item, now) => {
    remove(item, now)
    letGo(item.parcel.event.extensions.orderkey, now)
  }
  box.release = (orderKey, letter, now) => {
    release(orderKey, letter, now)
    letGo(orderKey, now)
  }
}
