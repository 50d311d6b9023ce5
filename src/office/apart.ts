import type { Delivery } from '../contracts/transport.ts'
import type { Event } from '../core/event.ts'
import type { Instant, Millis } from '../core/time.ts'

/** Messages that could not be kept: they stay ours and unsettled, and are tried again while others go on. */
export interface Apart {
  /** Those whose time has come, at most so many. They are not here any more. */
  due(now: Instant, most: number): readonly Delivery[]
  /** `tried`: it was its own turn; else it goes before those that had theirs. Answers how long it waits. */
  add(delivery: Delivery, now: Instant, tried: boolean): Millis
  next(): Instant | undefined
}

const FIRST: Millis = 1000
const LONGEST: Millis = 5 * 60_000

export const createApart = (): Apart => {
  let waiting: { readonly delivery: Delivery; readonly due: Instant; readonly pause: Millis }[] = []
  const pauses = new WeakMap<Delivery, Millis>()
  return {
    due: (now, most) => {
      const some = waiting.filter(({ due }) => due <= now).slice(0, most)
      waiting = waiting.filter((each) => !some.includes(each))
      return some.map(({ delivery }) => delivery)
    },
    add: (delivery, now, tried) => {
      // its lease ran out meanwhile: this is the same one, and the other is of no more use
      const same = delivery.redelivered ? waiting.find((each) => isSame(each.delivery, delivery)) : undefined
      waiting = waiting.filter((each) => each !== same)
      const before = same?.pause ?? pauses.get(delivery) ?? FIRST / 2
      const pause = tried ? Math.min(before * 2, LONGEST) : before
      pauses.set(delivery, pause)
      waiting.push({ delivery, pause, due: tried ? now + pause : now })
      waiting.sort((a, b) => a.due - b.due)
      return pause
    },
    next: () => waiting[0]?.due,
  }
}

/** Others may give one id to several messages: what comes again is the same in all that it says, and lay at the same place. */
const isSame = (a: Delivery, b: Delivery): boolean =>
  !b.found?.another && a.found?.id === b.found?.id && isAlike(a.parcel.event, b.parcel.event)

const isAlike = (a: Event, b: Event): boolean =>
  a.id === b.id && a.source === b.source && a.type === b.type && Buffer.compare(bytesOf(a), bytesOf(b)) === 0

const bytesOf = ({ data }: Event): Uint8Array => data ?? new Uint8Array()
