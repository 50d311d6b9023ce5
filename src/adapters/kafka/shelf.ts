import type { Instant } from '../../core/time.ts'
import type { Shelf, Slot } from './holding.ts'
import { LONGEST } from './tiers.ts'

/** In the order of the log, except that records held until they are due come in the order of that. */
export const shelf = (): Shelf => {
  let line: Slot[] = []
  let head = 0
  const back: Slot[] = []
  const held: Slot[] = []
  /** Held longer than any tier: they move on before they are due, so that those behind them are not held up as long. */
  let long: Slot[] = []

  const promote = (now: Instant) => {
    while (held.length > 0 && held[0]!.due <= now) line.push(pop(held))
    while (long.length > 0 && long[0]!.due <= now) line.push(pop(long))
  }
  return {
    get size() {
      return back.length + line.length - head + held.length + long.length
    },
    ready: (now) => {
      promote(now)
      return back.length + line.length - head
    },
    put: (slot) => {
      if (slot.due === 0) line.push(slot)
      else push(slot.due - slot.timestamp > LONGEST ? long : held, slot)
    },
    outstayed: (now) => {
      const goes = ({ timestamp, due }: Slot) => due > now && timestamp + LONGEST <= now
      const going = long.filter(goes)
      if (going.length > 0) {
        const staying = long.filter((slot) => !goes(slot))
        long = []
        for (const slot of staying) push(long, slot)
      }
      return going
    },
    putBack: (slot) => {
      // Several given back at once keep the order of the log.
      let at = back.length
      while (at > 0 && back[at - 1]!.offset > slot.offset) at--
      back.splice(at, 0, slot)
    },
    take: (now) => {
      if (back.length > 0) return back.shift()
      if (held.length + long.length > 0) promote(now)
      if (head === line.length) return undefined
      const slot = line[head++]!
      if (head > 1024 && head * 2 > line.length) {
        line = line.slice(head)
        head = 0
      }
      return slot
    },
    nextDue: () =>
      Math.min(held[0]?.due ?? Number.POSITIVE_INFINITY, long[0]?.due ?? Number.POSITIVE_INFINITY),
    oldest: () => back[0]?.timestamp ?? line[head]?.timestamp,
  }
}

/** A binary heap, the least due first, the log's order among equals. */
const before = (a: Slot, b: Slot) => a.due < b.due || (a.due === b.due && a.offset < b.offset)

const push = (heap: Slot[], slot: Slot): void => {
  let at = heap.length
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!before(slot, heap[parent]!)) break
    heap[at] = heap[parent]!
    at = parent
  }
  heap[at] = slot
}

const pop = (heap: Slot[]): Slot => {
  const first = heap[0]!
  const last = heap.pop()!
  if (heap.length === 0) return first
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
    if (!before(heap[child]!, last)) break
    heap[at] = heap[child]!
    at = child
  }
  heap[at] = last
  return first
}
