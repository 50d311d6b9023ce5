import type { Delivery, Inlet } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { isOurs } from '../../core/letter.ts'
import { takeInTurn } from '../../core/rank.ts'
import type { Instant } from '../../core/time.ts'
import { readFound } from './found.ts'
import type { Door, Group } from './group.ts'
import type { Slot, Tenure } from './holding.ts'
import { orderedByKey, readRecord } from './incoming.ts'
import { lagOf } from './lag.ts'
import type { Post } from './post.ts'
import { settleBatch } from './settle.ts'
import { isHungry } from './tenure.ts'
import type { Topics } from './topics.ts'
import type { Transactions } from './transactions.ts'
import type { Wire } from './wire.ts'

export interface InletOptions {
  readonly wire: Wire
  readonly group: Group
  readonly topic: string
  readonly window: number
  /** Events come in the order of their keys, whoever wrote them. */
  readonly byKey?: boolean
  readonly post: Post
  readonly transactions?: Transactions
  readonly topics: Topics
  /** A destination: what lies there may be written by anyone. */
  readonly collects?: boolean
}

/** Where a delivery came from, in the delivery itself: no table to keep, and copies of it are as good. */
const SLOT = Symbol('slot')
type Handed = Delivery & { readonly [SLOT]?: Slot }
const slotOf = (delivery: Handed): Slot | undefined => delivery[SLOT]

export const openInlet = (options: InletOptions): Inlet => {
  const { wire, group, topic, window } = options
  const { member } = group
  const { clock } = wire.tools
  const door: Door = { topic, window, out: 0, retrying: 0, closed: false }
  const desk = { ...options, door, slotOf }
  /** While one half of the window is settled the other is worked on: all of it at once would leave one of us waiting. */
  const gulp = Math.ceil(window / 2)
  let turn = 0
  /** Fresh ones since the last retry. */
  let passed = 0
  let closing: Promise<void> | undefined
  group.open(door)

  const deliver = (slot: Slot, now: Instant): Delivery => {
    const { tenure, offset, redelivered, timestamp, due } = slot
    const { event: read, trail, broken, untyped } = readRecord(slot.record!, tenure, offset)
    const event = options.byKey && broken === undefined ? orderedByKey(read, slot.record!) : read
    const since = Math.min(timestamp, now)
    const parcel = { event, trail, due: due || since }
    slot.holder = door
    door.out++
    if (tenure.parcels) door.retrying++
    const delivery: Handed = { parcel, redelivered, [SLOT]: slot }
    if (options.collects && !isOurs(event)) {
      const found = readFound(slot.record!, tenure, offset, since)
      return { ...delivery, found, ...(broken !== undefined && { broken }) }
    }
    if (untyped) return { ...delivery, untyped }
    return broken === undefined ? delivery : { ...delivery, broken }
  }
  /** What comes from a retry topic counts as a retry. Nobody knows what is urgent before it is read. */
  const take = (most: number, now: Instant): readonly Delivery[] => {
    const ready = [...member.tenures.values()].filter(({ shelves }) => shelves.get(topic)?.ready(now))
    const first = ready.length > 0 ? turn++ % ready.length : 0
    const inTurn = [...ready.slice(first), ...ready.slice(0, first)]
    const gulp = takeInTurn(most, { window, retrying: door.retrying, passed }, (rank, some) => {
      if (rank === 'urgent') return []
      return takeEvenly(
        inTurn.filter(({ parcels }) => parcels === (rank === 'retry')),
        some,
        now,
      )
    })
    passed = gulp.passed
    if (ready.some(isHungry)) member.hunger.ring()
    return gulp.taken
  }
  /** Partitions give even shares, so that none waits for the others to run dry. */
  const takeEvenly = (from: readonly Tenure[], most: number, now: Instant): readonly Delivery[] => {
    const deliveries: Delivery[] = []
    let giving = from
    while (giving.length > 0 && deliveries.length < most) {
      const share = Math.ceil((most - deliveries.length) / giving.length)
      giving = giving.filter((tenure) => {
        for (let n = Math.min(share, most - deliveries.length); n > 0; n--) {
          const slot = tenure.take(topic, now)
          if (!slot) return false
          deliveries.push(deliver(slot, now))
        }
        return true
      })
    }
    return deliveries
  }
  const nextDue = (now: Instant): number => {
    let next = Number.POSITIVE_INFINITY
    for (const { shelves } of member.tenures.values()) {
      next = Math.min(next, shelves.get(topic)?.nextDue() ?? next)
    }
    return Math.max(0, next - now)
  }

  return {
    receive: async (max, signal) => {
      if (door.closed)
        throw new ReprieveError('closed', `kafka: the inlet of ${topic} in ${group.name} is closed`)
      group.begin()
      while (!signal.aborted && !door.closed) {
        const now = clock.now()
        const room = Math.min(max, gulp, window - door.out)
        const deliveries = room > 0 && member.handing ? take(room, now) : []
        if (deliveries.length > 0) return deliveries
        await member.bell.wait(room > 0 && member.handing ? nextDue(now) : undefined, signal)
      }
      return []
    },
    settle: (batch) => settleBatch(desk, batch),
    // A partition is ours as long as the member lives: there is nothing to extend.
    extend: async () => {},
    lag: () => lagOf(wire, options.topics, group, topic),
    close: () => {
      closing ??= group.shut(door)
      return closing
    },
  }
}
