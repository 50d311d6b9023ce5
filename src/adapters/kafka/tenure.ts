import type { Instant } from '../../core/time.ts'
import { alone, CONTROL, eachRecord, keyOf, type RawBatch, type RawRecord, TRANSACTIONAL } from './batches.ts'
import type { Aborted } from './fetch.ts'
import { type Label, labelOf } from './headers.ts'
import type { Shelf, Slot, Tenure } from './holding.ts'
import type { Mark, Run } from './marks.ts'
import { shelf } from './shelf.ts'

export interface Start {
  readonly topic: string
  readonly partition: number
  readonly topicId?: string | undefined
  readonly parcels: boolean
  readonly offset: number
  readonly mark: Mark
  /** Stuck records stay where they are: what has passed them is remembered as runs, however many. */
  readonly squeezes?: boolean
}

/** A stuck record holds up the commit, not the rest; but no more than so many pass it by. */
export const MOST_SPAN = 10_000
/** When so many have passed it, a stuck one moves elsewhere. */
export const ENOUGH_SPAN = 5_000
/** A partition is fetched while less than this waits. */
const ENOUGH_BYTES = 512 * 1024
/** When so many more are finished, they are looked through for runs. */
const SQUEEZE = 1_000

export const isHungry = ({ bytes, span }: Tenure): boolean => bytes < ENOUGH_BYTES && span < MOST_SPAN

/** Of a record that is no parcel, or that nobody will be given. */
const BARE: Label = { target: undefined, due: 0, again: false }

const OUT = { waiting: false, out: true, settling: true, done: false } as const

export const tenure = ({
  topic,
  partition,
  topicId,
  parcels,
  offset: start,
  mark,
  squeezes = false,
}: Start): Tenure => {
  const shelves = new Map<string, Shelf>()
  let position = start
  let slots: Slot[] = []
  let head = 0
  let top = -1
  let bytes = 0
  let out = 0
  let suspicious = mark.out
  let past = mark.done
  let loose = 0

  const shelfFor = (target: string): Shelf => {
    let found = shelves.get(target)
    if (!found) {
      found = shelf()
      shelves.set(target, found)
    }
    return found
  }
  const finishedBefore = (offset: number): boolean => {
    while (past.length > 0 && past[0]![1] < offset) past = past.slice(1)
    return past.length > 0 && past[0]![0] <= offset
  }
  const addNew = (offset: number, timestamp: Instant, record: RawRecord) => {
    if (offset < position) return
    position = offset + 1
    const done = past.length > 0 && finishedBefore(offset)
    const size = record.end - record.at + 100
    const label = parcels && !done ? labelOf(record) : BARE
    const slot: Slot = {
      tenure: self,
      offset,
      timestamp,
      target: label.target ?? topic,
      due: label.due,
      bytes: size,
      record: done ? undefined : parcels ? alone(record) : record,
      state: done ? 'done' : 'waiting',
      redelivered: !done && (suspicious-- > 0 || label.again),
      housed: false,
      uncommitted: false,
      holder: undefined,
    }
    slots.push(slot)
    if (done) top = offset
    else {
      bytes += size
      shelfFor(slot.target).put(slot)
    }
  }
  const advance = () => {
    while (head < slots.length && slots[head]!.state === 'done') head++
    if (head > 1024 && head * 2 > slots.length) {
      slots = slots.slice(head)
      head = 0
    }
  }
  /** Finished neighbours become one. */
  const squeeze = () => {
    const kept: Slot[] = []
    for (const slot of slots.slice(head)) {
      const before = kept.at(-1)
      if (slot.state !== 'done' || before?.state !== 'done') kept.push(slot)
      else kept[kept.length - 1] = { ...slot, since: before.since ?? before.offset }
    }
    slots = kept
    head = 0
    loose = 0
  }
  const left = (slot: Slot) => {
    if (slot.state === 'waiting') bytes -= slot.bytes
    else out--
  }

  const giveBack = (slot: Slot) => {
    left(slot)
    bytes += slot.bytes
    slot.state = 'waiting'
    slot.redelivered = true
    shelfFor(slot.target).putBack(slot)
  }

  const self: Tenure = {
    topic,
    partition,
    parcels,
    shelves,
    end: Number.POSITIVE_INFINITY,
    committed: 0,
    over: false,
    topicId,
    suspects: mark.out,
    get position() {
      return position
    },
    get bytes() {
      return bytes
    },
    get span() {
      return slots.length - head
    },
    get out() {
      return out
    },
    accept: (batches, aborted) => {
      for (const batch of committed(batches, aborted)) {
        if ((batch.attributes & CONTROL) === 0) eachRecord(batch, addNew)
        position = Math.max(position, batch.last + 1)
      }
      advance()
    },
    skipTo: (offset) => {
      position = Math.max(position, offset)
    },
    take: (target, now) => {
      const slot = shelves.get(target)?.take(now)
      if (!slot) return undefined
      bytes -= slot.bytes
      out++
      slot.state = 'out'
      return slot
    },
    giveBack,
    outstayed: (now) => {
      const going = [...shelves.values()].flatMap((each) => each.outstayed(now))
      for (const slot of going) {
        bytes -= slot.bytes
        out++
        slot.state = 'settling'
      }
      return going
    },
    keep: (slot) => {
      left(slot)
      bytes += slot.bytes
      slot.state = 'waiting'
      shelfFor(slot.target).put(slot)
    },
    takeBack: (holder) => {
      for (let at = head; at < slots.length; at++) {
        const slot = slots[at]!
        if (slot.holder !== holder) continue
        slot.holder = undefined
        if (slot.state === 'out') giveBack(slot)
      }
    },
    finish: (slot) => {
      left(slot)
      slot.state = 'done'
      slot.record = undefined
      if (slot.offset > top) top = slot.offset
      if (slots[head] === slot) advance()
      if (squeezes && ++loose >= SQUEEZE) squeeze()
    },
    stragglers: (among) => slots.slice(head, head + Math.ceil(among)).filter(({ state }) => state === 'out'),
    reach: () => {
      let last = slots.length - 1
      while (last >= head && !(slots[last]!.redelivered || OUT[slots[last]!.state])) last--
      let count = 0
      for (let at = head; at <= last; at++) if (slots[at]!.state !== 'done') count++
      return count
    },
    progress: (also) => {
      const isDone = (slot: Slot) => slot.state === 'done' || also?.has(slot) === true
      let first = head
      let last = top
      if (also) {
        while (first < slots.length && isDone(slots[first]!)) first++
        for (const { tenure: of, offset } of also) if (of === self && offset > last) last = offset
      }
      const done: Run[] = []
      let from: number | undefined
      let to = 0
      for (let at = first; at < slots.length && slots[at]!.offset <= last; at++) {
        const slot = slots[at]!
        if (isDone(slot)) {
          from ??= slot.since ?? slot.offset
          to = slot.offset
        } else if (from !== undefined) {
          done.push([from, to])
          from = undefined
        }
      }
      if (from !== undefined) done.push([from, to])
      for (const run of past) if (run[1] >= position) done.push([Math.max(run[0], position), run[1]])
      return { offset: slots[first]?.offset ?? position, done }
    },
  }
  return self
}

/** Leaves out what aborted transactions wrote: from the first offset named to the mark that ends each. */
const committed = (batches: readonly RawBatch[], aborted: readonly Aborted[]): readonly RawBatch[] => {
  if (aborted.length === 0) return batches
  const coming = [...aborted].sort((a, b) => Number(a.firstOffset - b.firstOffset))
  const open = new Set<bigint>()
  return batches.map((batch) => {
    while (coming.length > 0 && Number(coming[0]!.firstOffset) <= batch.last)
      open.add(coming.shift()!.producerId)
    if ((batch.attributes & CONTROL) !== 0) {
      eachRecord(batch, (_offset, _at, record) => {
        // Its key holds a version and what it means: 0 is an abort.
        if (keyOf(record)?.readInt16BE(2) === 0) open.delete(batch.producerId)
      })
      return batch
    }
    const dropped = (batch.attributes & TRANSACTIONAL) !== 0 && open.has(batch.producerId)
    return dropped ? { ...batch, count: 0 } : batch
  })
}
