import { describe, expect, it } from 'vitest'
import { createCap, createLanes, type Work } from './lanes.ts'

/** Works that end when they are told to, named by what they are: f1 is fresh, r1 a retry, u1 urgent. */
const bench = (width: number) => {
  const lanes = createLanes(width)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const add = (name: string, more: Partial<Work> = {}) =>
    lanes.add({
      lane: undefined,
      fast: name.startsWith('u'),
      retry: name.startsWith('r'),
      ...more,
      run: (slot) => {
        begun.push(name)
        ends.set(name, slot.ended)
      },
    })
  const addAll = (kind: string, count: number, more: Partial<Work> = {}) => {
    for (let n = 1; n <= count; n++) add(`${kind}${n}`, more)
  }
  const end = (name: string) => {
    ends.get(name)!()
    ends.delete(name)
  }
  /** Ends the oldest of those that run, again and again: the others begin in their order. */
  const endAll = () => {
    while (ends.size > 0) end(ends.keys().next().value!)
  }
  const running = (kind: string) => [...ends.keys()].filter((name) => name.startsWith(kind)).length
  return { lanes, begun, add, addAll, end, endAll, running }
}

/** Fills all slots with one that is ended when both sorts wait: from then on both are there for every choice. */
const contested = (width: number, fresh: number, retries: number) => {
  const b = bench(width)
  for (let n = 0; n < width; n++) b.add(`x${n}`)
  b.addAll('r', retries)
  b.addAll('f', fresh)
  const from = b.begun.length
  for (let n = 0; n < width; n++) b.end(`x${n}`)
  return { ...b, since: () => b.begun.slice(from) }
}

const count = (names: readonly string[], kind: string) => names.filter((name) => name.startsWith(kind)).length

describe('fresh work and retries', () => {
  it.each([
    [1, 1],
    [4, 1],
    [5, 1],
    [9, 1],
    [10, 2],
    [20, 4],
    [23, 4],
    [100, 20],
  ])('%i slots: while fresh work waits retries have %i at most', (width, share) => {
    const { running, since, endAll } = contested(width, 500, 500)
    // slow retries, quick fresh work: the share of slots holds, whatever takes how long
    const slow = contested(width, 2000, 500)
    let most = 0
    for (let n = 1; n <= 1500; n++) {
      const name = slow.since().find((each) => each === `f${n}`)
      if (name) slow.end(name)
      most = Math.max(most, slow.running('r'))
    }
    expect(most).toBe(share)
    expect(running('r')).toBeLessThanOrEqual(share)
    endAll()
    const retries = count(since().slice(0, 500), 'r')
    if (width < 5 || width % 5 === 0) expect(retries).toBe(100)
    else expect(retries).toBeLessThan(100)
    expect(retries).toBeGreaterThan(50)
  })

  it('take turns where there is one slot: four fresh, one retry', () => {
    const { since, endAll } = contested(1, 10, 10)
    endAll()
    // the one that filled the slot was fresh as well
    expect(since().slice(0, 10)).toEqual(['f1', 'f2', 'f3', 'r1', 'f4', 'f5', 'f6', 'f7', 'r2', 'f8'])
  })

  it('retries have all slots where nothing fresh waits, and give them up as they end when it comes', () => {
    const { addAll, running, begun, end } = bench(10)
    addAll('r', 30)
    expect(running('r')).toBe(10)
    addAll('f', 30)
    for (let n = 1; n <= 9; n++) end(`r${n}`)
    expect(running('r')).toBe(2)
    expect(begun.slice(10)).toEqual(['f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8', 'r11'])
    end('f1')
    end('r10')
    expect(begun.slice(-2)).toEqual(['f9', 'f10'])
    end('f2')
    expect(begun.at(-1)).toBe('f11')
    end('f3')
    expect(begun.at(-1)).toBe('f12')
    end('f4')
    expect(begun.at(-1)).toBe('r12')
  })

  it('go behind what is urgent, retries of urgent events included', () => {
    const { add, end, begun } = bench(1)
    add('f0')
    add('r1')
    add('f1')
    add('u1')
    add('u2', { retry: true })
    for (const name of ['f0', 'u1', 'u2', 'f1', 'r1']) end(name)
    expect(begun).toEqual(['f0', 'u1', 'u2', 'f1', 'r1'])
  })

  it('go all, in the end', () => {
    const { addAll, endAll, begun } = bench(3)
    addAll('r', 40)
    addAll('f', 40)
    addAll('u', 40)
    endAll()
    expect(new Set(begun).size).toBe(120)
  })
})

describe('works that share a cap', () => {
  it('are never more at once, hold no slot while they wait, and let others pass', () => {
    const { add, addAll, end, begun, running } = bench(4)
    const cap = createCap(2)
    addAll('c', 5, { cap })
    add('f1')
    add('f2')
    expect(begun).toEqual(['c1', 'c2', 'f1', 'f2'])
    end('c1')
    expect(begun.at(-1)).toBe('c3')
    end('f1')
    end('f2')
    expect(running('c')).toBe(2)
    end('c2')
    end('c3')
    expect(begun.slice(-2)).toEqual(['c4', 'c5'])
  })

  it('keep their turn: the parked go before those that came later', () => {
    const { addAll, add, end, begun } = bench(2)
    const cap = createCap(1)
    addAll('c', 3, { cap })
    add('f1')
    add('f2')
    add('c4', { cap })
    end('c1')
    expect(begun).toEqual(['c1', 'f1', 'c2'])
    end('c2')
    end('f1')
    end('c3')
    expect(begun).toEqual(['c1', 'f1', 'c2', 'c3', 'f2', 'c4'])
  })

  it('are taken out with the rest', () => {
    const { lanes, addAll } = bench(3)
    addAll('c', 5, { cap: createCap(1) })
    addAll('r', 5)
    expect(lanes.clear()).toHaveLength(7)
  })
})
