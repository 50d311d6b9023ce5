import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Frames, freshTags } from './tags.ts'

/** The broker's side: what a frame acknowledges of what is open on the channel. */
const broker = (delivered: number) => {
  const open = new Set(Array.from({ length: delivered }, (_, n) => n + 1))
  const acked: number[] = []
  const take = (tag: number) => {
    if (!open.delete(tag)) throw new Error(`unknown delivery tag ${tag}`)
    acked.push(tag)
  }
  return {
    giveBack: (tag: number) => open.delete(tag),
    open: () => open.size,
    apply: ({ upTo, single }: Frames) => {
      acked.length = 0
      for (const tag of single) take(tag)
      if (upTo !== undefined) {
        if (!open.has(upTo)) throw new Error(`unknown delivery tag ${upTo}`)
        for (const tag of [...open]) if (tag <= upTo) take(tag)
      }
      return [...acked].sort((a, b) => a - b)
    },
  }
}

describe('acknowledgements', () => {
  it('one frame stands for a batch that leaves nothing open before it', () => {
    const tags = freshTags()
    expect(tags.ack([1, 2, 3])).toEqual({ upTo: 3, single: [] })
    expect(tags.ack([6, 5, 4])).toEqual({ upTo: 6, single: [] })
  })

  it('what is still open before them keeps them single, until it is settled', () => {
    const tags = freshTags()
    expect(tags.ack([2, 3])).toEqual({ upTo: undefined, single: [2, 3] })
    expect(tags.ack([1, 4, 6])).toEqual({ upTo: 4, single: [6] })
    tags.skip([5])
    expect(tags.ack([7])).toEqual({ upTo: 7, single: [] })
  })

  it('one that stays open costs nothing, however many pass it', () => {
    const tags = freshTags()
    let runs = 0
    for (let tag = 2; tag < 100_000; tag += 2) {
      tags.ack([tag + 1])
      tags.skip([tag])
      runs = Math.max(runs, tags.runs())
    }
    expect(runs).toBeLessThan(3)
    expect(tags.ack([1])).toEqual({ upTo: 1, single: [] })
    expect(tags.runs()).toBe(0)
    expect(tags.ack([100_000])).toEqual({ upTo: 100_000, single: [] })
  })

  it('in any order and grouping, each frame acknowledges just what was asked for', () => {
    const order = fc.shuffledSubarray([...Array(30).keys()].map((n) => n + 1))
    fc.assert(
      fc.property(order, fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.boolean())), (tags, cuts) => {
        const ours = freshTags()
        const theirs = broker(30)
        let at = 0
        for (const [size, back] of cuts) {
          const group = tags.slice(at, at + size)
          at += size
          if (back) {
            for (const tag of group) theirs.giveBack(tag)
            ours.skip(group)
          } else expect(theirs.apply(ours.ack(group))).toEqual([...group].sort((a, b) => a - b))
          expect(ours.runs()).toBeLessThanOrEqual(theirs.open())
        }
      }),
    )
  })
})
