import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeMark, encodeMark, type Run, shortMark } from './marks.ts'

describe('the mark beside a committed offset', () => {
  it('reads back what was written', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 0, max: 5_000 })), {
      maxLength: 100,
    })
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.nat(10_000), steps, (committed, out, gaps) => {
        let end = committed
        const done = gaps.map(([gap, length]): Run => {
          const from = end + gap
          end = from + length
          return [from, end]
        })
        expect(decodeMark(encodeMark({ out, done }, committed), committed)).toEqual({ out, done })
      }),
    )
  })

  it('names the topic that it speaks of, where that is known', () => {
    const mark = { out: 3, done: [[7, 9] as const], of: '0b0e9b3a-7f0c-4f3e-9f57-2a7c2c1d0e4f' }
    expect(decodeMark(encodeMark(mark, 5), 5)).toEqual(mark)
    expect(decodeMark(shortMark(encodeMark(mark, 5)), 5)).toEqual({ ...mark, done: [] })
  })

  it('stays below what a broker takes, and forgets the furthest first', () => {
    const done = Array.from({ length: 5_000 }, (_, n): Run => [100 + 2 * n, 100 + 2 * n])
    const text = encodeMark({ out: 3, done }, 99)
    expect(text.length).toBeLessThan(4_096)
    const read = decodeMark(text, 99)!
    expect(read.done.length).toBeGreaterThan(500)
    expect(read.done).toEqual(done.slice(0, read.done.length))
  })

  it('takes nothing else for a mark', () => {
    for (const text of [
      '',
      'reprieve',
      'reprieve:2:0:',
      'reprieve:1:x:',
      'reprieve:1:0:1.',
      'reprieve:1:0:,.,',
    ]) {
      expect(decodeMark(text, 5), text).toBeUndefined()
    }
    expect(decodeMark('reprieve:1:0:', 5)).toEqual({ out: 0, done: [] })
  })
})
