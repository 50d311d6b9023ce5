import { describe, expect, it } from 'vitest'
import { virtualClock } from '../testing/clock.ts'
import { createLanes, type Lanes, type Slot } from './lanes.ts'
import { createSolo } from './solo.ts'

/** Lanes of two services that share a process; works end when they are told to. */
const stage = (width = 2) => {
  const clock = virtualClock()
  const solo = createSolo(clock, new AbortController().signal)
  const begun: string[] = []
  const slots = new Map<string, Slot>()
  const [left, right] = [createLanes(width, solo), createLanes(width, solo)]
  const add = (
    lanes: Lanes,
    name: string,
    { alone = false, lane }: { alone?: boolean; lane?: string } = {},
  ) =>
    lanes.add({
      lane,
      fast: false,
      alone,
      run: (slot) => {
        begun.push(name)
        slots.set(name, slot)
      },
    })
  const news = (): readonly string[] => begun.splice(0)
  return {
    clock,
    left,
    right,
    add,
    suspect: (lanes: Lanes, name: string, lane?: string) =>
      add(lanes, name, { alone: true, ...(lane !== undefined && { lane }) }),
    end: (name: string) => slots.get(name)!.ended(),
    handled: (name: string) => slots.get(name)!.handled(),
    news,
  }
}

describe('a suspect', () => {
  it('waits for what runs in any service, and nothing begins beside it', () => {
    const { left, right, add, suspect, end, news } = stage()
    add(left, 'a')
    add(right, 'b')
    suspect(left, 'suspect')
    add(left, 'c')
    add(right, 'd')
    expect(news()).toEqual(['a', 'b'])
    end('a')
    expect(news()).toEqual([])
    end('b')
    expect(news()).toEqual(['suspect'])
    add(right, 'e')
    expect(news()).toEqual([])
    end('suspect')
    expect([...news()].sort()).toEqual(['c', 'd', 'e'])
  })

  it('waits until what the others did is settled, but not for ever', async () => {
    const { clock, left, right, add, suspect, handled, end, news } = stage()
    add(right, 'slow to settle')
    suspect(left, 'suspect')
    handled('slow to settle')
    add(right, 'next')
    expect(news()).toEqual(['slow to settle'])
    await clock.advance(999)
    expect(news()).toEqual([])
    await clock.advance(1)
    expect(news()).toEqual(['suspect'])
    handled('suspect')
    expect(news()).toEqual([])
    end('suspect')
    await clock.advance(1000)
    expect(news()).toEqual(['next'])
  })

  it('leaves the others as long as it took, waiting for them included', async () => {
    const { clock, left, right, add, suspect, end, news } = stage(1)
    add(right, 'a')
    suspect(left, 'first')
    suspect(left, 'second')
    add(right, 'b')
    add(right, 'c')
    await clock.advance(100)
    end('a')
    await clock.advance(50)
    end('first')
    expect(news()).toEqual(['a', 'first', 'b'])
    await clock.advance(100)
    end('b')
    expect(news()).toEqual(['c'])
    await clock.advance(50)
    add(right, 'd')
    expect(news()).toEqual([])
    end('c')
    expect(news()).toEqual(['second'])
    end('second')
    expect(news()).toEqual(['d'])
  })

  it('follows the one before at once where nobody else wants to run', async () => {
    const { clock, left, right, suspect, end, news } = stage()
    suspect(left, 'a')
    suspect(left, 'b')
    suspect(right, 'c')
    await clock.advance(100)
    end('a')
    expect(news()).toEqual(['a', 'c'])
    end('c')
    expect(news()).toEqual(['b'])
  })

  it('keeps its place in its lane', () => {
    const { left, add, suspect, end, news } = stage()
    add(left, 'k1', { lane: 'k' })
    suspect(left, 'k2', 'k')
    add(left, 'k3', { lane: 'k' })
    add(left, 'free')
    expect(news()).toEqual(['k1', 'free'])
    end('k1')
    end('free')
    expect(news()).toEqual(['k2'])
    end('k2')
    expect(news()).toEqual(['k3'])
  })

  it('that is taken out while it waits keeps nobody back', async () => {
    const { left, right, add, suspect, end, news } = stage()
    add(right, 'a')
    suspect(left, 'suspect')
    add(right, 'b')
    expect(news()).toEqual(['a'])
    expect(left.clear()).toHaveLength(1)
    expect(news()).toEqual(['b'])
    await left.idle()
    end('a')
    end('b')
    await right.idle()
  })
})

it('a hundred suspects leave the others half of their rate', async () => {
  const clock = virtualClock()
  const solo = createSolo(clock, new AbortController().signal)
  const lanes = createLanes(4, solo)
  let ordinary = 0
  let suspects = 0
  const work = (alone: boolean) => ({
    lane: undefined,
    fast: false,
    alone,
    run: (slot: Slot) => {
      void clock.sleep(10).then(() => {
        if (alone) suspects++
        else {
          ordinary++
          lanes.add(work(false))
        }
        slot.ended()
      })
    },
  })
  for (let i = 0; i < 4; i++) lanes.add(work(false))
  for (let i = 0; i < 100; i++) lanes.add(work(true))
  await clock.advance(2000)
  // alone, four at a time, they would be 800
  expect(ordinary).toBeGreaterThan(350)
  expect(suspects).toBeGreaterThan(40)
})
