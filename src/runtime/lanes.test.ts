import { describe, expect, it } from 'vitest'
import { createLanes } from './lanes.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Works that end when they are told to. */
const bench = (width: number) => {
  const lanes = createLanes(width)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const handled = new Map<string, () => void>()
  const add = (name: string, lane?: string, fast = false) =>
    lanes.add({
      lane,
      fast,
      run: (slot) => {
        begun.push(name)
        handled.set(name, slot.handled)
        ends.set(name, slot.ended)
      },
    })
  const end = async (name: string) => {
    ends.get(name)!()
    await turn()
  }
  return { lanes, begun, add, end, handled: (name: string) => handled.get(name)!() }
}

describe('lanes', () => {
  it('run side by side up to their width', async () => {
    const { begun, add, end } = bench(2)
    for (const name of ['a', 'b', 'c']) add(name)
    expect(begun).toEqual(['a', 'b'])
    await end('a')
    expect(begun).toEqual(['a', 'b', 'c'])
  })

  it('keep the order within one lane while others pass', async () => {
    const { begun, add, end } = bench(3)
    add('x1', 'x')
    add('x2', 'x')
    add('y1', 'y')
    add('x3', 'x')
    expect(begun).toEqual(['x1', 'y1'])
    await end('x1')
    expect(begun).toEqual(['x1', 'y1', 'x2'])
    await end('x2')
    await end('x3')
    expect(begun).toEqual(['x1', 'y1', 'x2', 'x3'])
  })

  it('let fast work go first', async () => {
    const { begun, add, end } = bench(1)
    add('first')
    add('calm')
    add('urgent', undefined, true)
    await end('first')
    expect(begun).toEqual(['first', 'urgent'])
  })

  it('give the slot on once a work is handled, and its lane only when it ends', async () => {
    const { lanes, begun, add, end, handled } = bench(1)
    add('x1', 'x')
    add('x2', 'x')
    add('y1', 'y')
    add('y2', 'y')
    handled('x1')
    handled('x1')
    expect(begun).toEqual(['x1', 'y1'])
    let idle = false
    void lanes.idle().then(() => {
      idle = true
    })
    handled('y1')
    await end('y1')
    expect(begun).toEqual(['x1', 'y1', 'y2'])
    await end('y2')
    expect(idle).toBe(false)
    await end('x1')
    expect(begun).toEqual(['x1', 'y1', 'y2', 'x2'])
    await end('x2')
    expect(idle).toBe(true)
  })

  it('are idle only when nothing runs or waits', async () => {
    const { lanes, add, end } = bench(1)
    let idle = false
    add('a')
    add('b')
    void lanes.idle().then(() => {
      idle = true
    })
    await end('a')
    expect(idle).toBe(false)
    await end('b')
    expect(idle).toBe(true)
  })

  it('go through any number of works that end at once', () => {
    const { lanes } = bench(1)
    let ended = 0
    const atOnce = (then?: () => void) => ({
      lane: undefined,
      fast: false,
      run: ({ ended: end }: { ended(): void }) => {
        then?.()
        ended++
        end()
      },
    })
    // the first adds the others while it runs, so that they wait for it
    lanes.add(atOnce(() => Array.from({ length: 50_000 }, () => lanes.add(atOnce()))))
    expect(ended).toBe(50_001)
  })

  it('give back what has not begun', async () => {
    const { lanes, begun, add, end } = bench(1)
    add('a', 'x')
    add('b', 'x')
    add('c')
    expect(lanes.clear()).toHaveLength(2)
    await end('a')
    expect(begun).toEqual(['a'])
  })
})
