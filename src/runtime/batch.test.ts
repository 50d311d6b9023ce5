import { describe, expect, it } from 'vitest'
import type { Batch } from '../rules/index.ts'
import { virtualClock } from '../testing/clock.ts'
import { createGathering } from './batch.ts'
import { createDeadlines } from './deadline.ts'

const CALM: Batch = { size: 3, timeout: 2000, concurrency: 2, by: 'none' }

/** A gathering whose batches end when they are told to. */
const bench = (mayBegin?: () => boolean) => {
  const clock = virtualClock()
  const began = clock.now()
  const left: { at: number; things: readonly string[]; departs: string; ended: () => void }[] = []
  const gathering = createGathering<string>(
    createDeadlines(clock),
    (things, _, departs, ended) => left.push({ at: clock.now() - began, things, departs, ended }),
    mayBegin,
  )
  const add = (things: string, batch = CALM, key = '', name = 'calm') => {
    for (const thing of things) gathering.add(thing, name, batch, key)
  }
  const batches = () => left.map(({ things, departs, at }) => `${things.join('')} ${departs} ${at}`)
  return { clock, gathering, left, add, batches }
}

describe('gathering', () => {
  it('lets a batch leave when it is full', () => {
    const { add, batches } = bench()
    add('abcde')
    expect(batches()).toEqual(['abc full 0'])
  })

  it('lets it leave as it is when its time is over since the first one came', async () => {
    const { add, batches, clock, gathering } = bench()
    await clock.advance(500)
    add('a')
    await clock.advance(1999)
    add('b')
    expect([batches(), gathering.size]).toEqual([[], 2])
    await clock.advance(1)
    expect([batches(), gathering.size]).toEqual([['ab timeout 2500'], 0])
    add('c')
    await clock.advance(1999)
    expect(batches()).toHaveLength(1)
    await clock.advance(1)
    expect(batches()[1]).toBe('c timeout 4500')
  })

  it('stops the watch of a batch that was full in time', async () => {
    const { add, batches, clock, left } = bench()
    add('abc')
    left[0]!.ended()
    await clock.advance(1000)
    add('d')
    await clock.advance(1500)
    expect(batches()).toEqual(['abc full 0'])
    await clock.advance(500)
    expect(batches()).toEqual(['abc full 0', 'd timeout 3000'])
  })

  it('keeps keys apart, which share the turns of their batcher', () => {
    const { add, batches, left } = bench()
    add('ab', CALM, 'x')
    add('mn', CALM, 'y')
    add('c', CALM, 'x')
    add('o', CALM, 'y')
    add('pqr', CALM, 'y')
    expect(batches()).toEqual(['abc full 0', 'mno full 0'])
    left[1]!.ended()
    expect(batches()[2]).toBe('pqr full 0')
  })

  it('keeps batchers apart: one that is busy holds up no other', () => {
    const { add, batches } = bench()
    add('abcdefghi')
    add('uv', { ...CALM, size: 2, concurrency: 1 }, '', 'urgent')
    expect(batches()).toEqual(['abc full 0', 'def full 0', 'uv full 0'])
  })

  it('goes on filling what waits for its turn', async () => {
    const { add, batches, clock, left } = bench()
    add('abcdef')
    add('g')
    await clock.advance(3000)
    add('h')
    expect(batches()).toHaveLength(2)
    left[0]!.ended()
    expect(batches()[2]).toBe('gh timeout 3000')
    add('i')
    await clock.advance(2500)
    add('jk')
    add('l')
    left[1]!.ended()
    left[2]!.ended()
    await clock.advance(2000)
    expect(batches().slice(3)).toEqual(['ijk full 5500', 'l timeout 7500'])
  })

  it('gives one that must be by itself a batch of its own, at once, in the batcher’s turn', () => {
    const { gathering, add, batches, left } = bench()
    add('a')
    gathering.alone('x', 'calm', CALM)
    add('b')
    gathering.alone('y', 'calm', CALM)
    gathering.alone('z', 'calm', CALM)
    expect(batches()).toEqual(['x alone 0', 'y alone 0'])
    left[0]!.ended()
    expect(batches()[2]).toBe('z alone 0')
    add('c')
    left[1]!.ended()
    expect(batches()[3]).toBe('abc full 0')
  })

  it('one at a time waits for nobody', () => {
    const { add, batches, clock } = bench()
    add('ab', { ...CALM, size: 1 })
    expect(batches()).toEqual(['a full 0', 'b full 0'])
    expect(clock.sleepers).toBe(0)
  })

  it('begins nothing while it is held back, fills on, and makes up for it after', async () => {
    let held = true
    const { add, batches, clock, gathering, left } = bench(() => !held)
    add('abcd')
    await clock.advance(2500)
    add('e')
    expect([batches(), gathering.size, gathering.running]).toEqual([[], 5, 0])
    held = false
    gathering.goOn()
    expect(batches()).toEqual(['abc full 2500', 'de timeout 2500'])
    expect([gathering.size, gathering.running]).toEqual([0, 2])
    for (const { ended } of left) ended()
    expect(gathering.running).toBe(0)
  })

  it('closed hands out each that has not left, once, and whatever comes after', async () => {
    const { add, batches, clock, gathering } = bench()
    add('abcdefghij')
    await clock.advance(2500)
    const dropped: string[] = []
    gathering.close((thing) => dropped.push(thing))
    add('k')
    gathering.alone('l', 'calm', CALM)
    await clock.advance(5000)
    expect(batches()).toHaveLength(2)
    expect(dropped.sort().join('')).toBe('ghijkl')
    expect(gathering.size).toBe(0)
  })
})
