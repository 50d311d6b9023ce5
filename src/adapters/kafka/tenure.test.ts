import { createRecordsBatch } from '@platformatic/kafka'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type RawBatch, readBatches } from './batches.ts'
import type { Slot, Tenure } from './holding.ts'
import { asMessage, eventRecord } from './outgoing.ts'
import { isHungry, MOST_SPAN, tenure } from './tenure.ts'

const event = { id: 'e', source: 's', type: 't', extensions: {}, headers: {}, data: null }

const noPacking = () => {
  throw new Error('nothing is packed here')
}

interface Batch {
  readonly attributes?: number
  readonly producerId?: bigint
  readonly due?: readonly number[]
  readonly key?: Buffer
}

/** Written by the client, read by us. */
const batch = (
  first: number,
  count: number,
  { attributes = 0, producerId, due, key }: Batch = {},
): RawBatch => {
  const messages = Array.from({ length: count }, (_, n) => {
    const extra = due && { 'reprieve-due': String(due[n]), 'reprieve-topic': 'orders' }
    const { headers } = asMessage(eventRecord('orders', event, extra))
    return { topic: 'orders', headers, timestamp: 1_000n, value: Buffer.alloc(0), ...(key && { key }) }
  })
  const bytes = createRecordsBatch(messages, producerId === undefined ? {} : { producerId }).buffer
  bytes.writeBigInt64BE(BigInt(first), 0)
  bytes.writeInt16BE(attributes, 21)
  return readBatches(bytes, noPacking)[0]!
}

const start = (over: Partial<Parameters<typeof tenure>[0]> = {}) =>
  tenure({ topic: 'orders', partition: 0, parcels: false, offset: 0, mark: { out: 0, done: [] }, ...over })

const takeAll = (from: Tenure, now = 0): Slot[] => {
  const slots: Slot[] = []
  for (let slot = from.take('orders', now); slot; slot = from.take('orders', now)) slots.push(slot)
  return slots
}
const offsets = (slots: readonly Slot[]) => slots.map(({ offset }) => offset)

describe('a tenure', () => {
  it('that was fetched into the midst of what is finished already forgets none of it', () => {
    const held = start({ mark: { out: 0, done: [[1, 9]] } })
    held.accept([batch(0, 4)], [])
    const { offset, done } = held.progress()
    const again = start({ offset, mark: { out: 0, done } })
    again.accept([batch(0, 12)], [])
    expect(offsets(takeAll(again))).toEqual([0, 10, 11])
  })

  const passBy = (held: Tenure, count: number): void => {
    for (let first = 0; first < count; first += 500) {
      held.accept([batch(first, 500)], [])
      for (const slot of takeAll(held)) if (slot.offset !== 0 && slot.offset !== 700) held.finish(slot)
    }
  }

  it('that nobody parks for remembers what passed stuck records as runs, and stays hungry', () => {
    const held = start({ squeezes: true })
    passBy(held, 2 * MOST_SPAN)
    expect(isHungry(held)).toBe(true)
    expect(held.span).toBeLessThan(2_000)
    expect(held.progress()).toEqual({
      offset: 0,
      done: [
        [1, 699],
        [701, 2 * MOST_SPAN - 1],
      ],
    })
    const [first] = held.stragglers(1)
    held.finish(first!)
    expect(held.progress()).toEqual({ offset: 700, done: [[701, 2 * MOST_SPAN - 1]] })
  })

  it('that is parked for counts what has passed, and is fetched no more when it is too much', () => {
    const held = start()
    passBy(held, MOST_SPAN)
    expect(isHungry(held)).toBe(false)
    expect(held.span).toBe(MOST_SPAN)
  })

  it('lets go on what must wait longer than the longest tier, and keeps it where it could not go', () => {
    const hour = 3_600_000
    const held = start({ parcels: true })
    // written at 1000: one fits the tier, one does not, one is due when the tier is over
    held.accept([batch(0, 3, { due: [1_000 + hour, 3 * hour, 1_001 + hour] })], [])
    expect(held.outstayed(hour)).toEqual([])
    const going = held.outstayed(1_000 + hour).toSorted((a, b) => a.offset - b.offset)
    expect(offsets(going)).toEqual([1, 2])
    expect(offsets(takeAll(held, 1_001 + hour))).toEqual([0])
    held.keep(going[0]!)
    held.finish(going[1]!)
    expect(takeAll(held, 3 * hour - 1)).toEqual([])
    expect(offsets(takeAll(held, 3 * hour))).toEqual([1])
    expect(held.progress().done).toEqual([[2, 2]])
  })

  it('commits up to the first gap, and remembers what is finished past it', () => {
    const held = start()
    held.accept([batch(0, 6)], [])
    const slots = takeAll(held)
    for (const at of [1, 2, 4]) held.finish(slots[at]!)
    expect(held.progress()).toEqual({
      offset: 0,
      done: [
        [1, 2],
        [4, 4],
      ],
    })
    held.finish(slots[0]!)
    expect(held.progress()).toEqual({ offset: 3, done: [[4, 4]] })
    held.finish(slots[3]!)
    held.finish(slots[5]!)
    expect(held.progress()).toEqual({ offset: 6, done: [] })
  })

  it('never commits past an unfinished record, whatever the order of settling', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(29), { maxLength: 60 }), (order) => {
        const held = start()
        held.accept([batch(0, 10), batch(15, 10), batch(25, 10)], []) // 10–14 were compacted away
        const slots = takeAll(held)
        const done = new Set<number>()
        for (const at of order) {
          if (done.has(slots[at]!.offset)) continue
          done.add(slots[at]!.offset)
          held.finish(slots[at]!)
          const first = slots.find(({ offset }) => !done.has(offset))
          expect(held.progress().offset).toBe(first?.offset ?? 35)
          // A next owner that starts from there hands over exactly what is not finished.
          const next = start({ ...held.progress(), mark: { out: 0, done: held.progress().done } })
          next.accept([batch(0, 10), batch(15, 10), batch(25, 10)], [])
          expect(offsets(takeAll(next))).toEqual(
            slots.map(({ offset }) => offset).filter((at) => !done.has(at)),
          )
        }
      }),
      { numRuns: 50 },
    )
  })

  it('keeps what an owner before it finished further on, though it has not read so far', () => {
    const held = start({ mark: { out: 2, done: [[7, 8]] } })
    held.accept([batch(0, 3)], [])
    const [first] = takeAll(held)
    held.finish(first!)
    expect(held.progress()).toEqual({ offset: 1, done: [[7, 8]] })
  })

  it('marks as redelivered those that may have been out, and no others', () => {
    const held = start({ mark: { out: 2, done: [[1, 1]] } })
    held.accept([batch(0, 5)], [])
    expect(takeAll(held).map(({ offset, redelivered }) => [offset, redelivered])).toEqual([
      [0, true],
      [2, true],
      [3, false],
      [4, false],
    ])
  })

  it('tells how far it has handed over, given back ones included', () => {
    const held = start()
    held.accept([batch(0, 6)], [])
    expect(held.reach()).toBe(0)
    const slots = [0, 1, 2, 3].map(() => held.take('orders', 0)!)
    held.finish(slots[0]!)
    expect(held.reach()).toBe(3)
    held.giveBack(slots[3]!)
    expect(held.reach()).toBe(3)
    expect(held.out).toBe(2)
    expect(offsets(takeAll(held))).toEqual([3, 4, 5])
  })

  it('hands over parcels when they are due, the earliest first, and none before', () => {
    const held = start({ parcels: true })
    held.accept([batch(0, 4, { due: [5_000, 1_000, 3_000, 1_000] })], [])
    expect(takeAll(held, 999)).toEqual([])
    expect(held.shelves.get('orders')!.nextDue()).toBe(1_000)
    expect(offsets(takeAll(held, 1_000))).toEqual([1, 3])
    expect(offsets(takeAll(held, 5_000))).toEqual([2, 0])
  })

  it('leaves out what aborted transactions wrote, wherever their end is', () => {
    const held = start()
    const transactional = { attributes: 1 << 4, producerId: 7n }
    const end = (first: number, abort: boolean) =>
      batch(first, 1, {
        attributes: (1 << 4) | (1 << 5),
        producerId: 7n,
        key: Buffer.from([0, 0, 0, abort ? 0 : 1]),
      })
    held.accept(
      [
        batch(0, 2, transactional),
        end(2, true),
        batch(3, 2, transactional),
        end(5, false),
        batch(6, 1),
        batch(7, 2, transactional), // its end is in the next answer
      ],
      [
        { producerId: 7n, firstOffset: 0n },
        { producerId: 7n, firstOffset: 7n },
      ],
    )
    expect(offsets(takeAll(held))).toEqual([3, 4, 6])
    expect(held.position).toBe(9)
  })

  it('passes by records before the one it asked for: batches begin where they like', () => {
    const held = start({ offset: 4 })
    held.accept([batch(0, 6)], [])
    expect(offsets(takeAll(held))).toEqual([4, 5])
  })
})
