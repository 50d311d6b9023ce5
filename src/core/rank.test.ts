import { describe, expect, it } from 'vitest'
import { type Rank, rankOf, shareOf, takeInTurn, urgentTypes } from './rank.ts'

/** A door with so many of each rank, at which nothing stays out. */
const door = (ready: Partial<Record<Rank, number>>, window = 20) => {
  const left = { urgent: 0, fresh: 0, retry: 0, ...ready }
  const asked: Rank[] = []
  let passed = 0
  const gulp = (room: number, retrying = 0): string => {
    const { taken, passed: after } = takeInTurn(room, { window, retrying, passed }, (rank, most) => {
      asked.push(rank)
      const count = Math.min(most, left[rank])
      left[rank] -= count
      return new Array<Rank>(count).fill(rank)
    })
    passed = after
    return taken.map((rank) => rank[0]).join('')
  }
  return { gulp, left, asked }
}

describe('a gulp', () => {
  it('is urgent ones first, and a fifth of the rest retries, while fresh ones are ready', () => {
    expect(door({ urgent: 3, fresh: 100, retry: 100 }).gulp(13)).toBe('uuuffffffffrr')
    expect(door({ urgent: 20, fresh: 100, retry: 100 }).gulp(10)).toBe('uuuuuuuuuu')
  })

  it('is filled by whoever is there, where the others are few', () => {
    expect(door({ fresh: 3, retry: 100 }).gulp(10)).toBe('fffrrrrrrr')
    expect(door({ fresh: 100, retry: 1 }).gulp(10)).toBe('fffffffffr')
    expect(door({ retry: 100 }).gulp(10)).toBe('rrrrrrrrrr')
    expect(door({ fresh: 4, retry: 2 }).gulp(10)).toBe('ffffrr')
    expect(door({}).gulp(10)).toBe('')
  })

  it('never has more retries out than a fifth of the window, while fresh ones are ready', () => {
    expect(door({ fresh: 100, retry: 100 }).gulp(10, 3)).toBe('fffffffffr')
    expect(door({ fresh: 100, retry: 100 }).gulp(10, 4)).toBe('ffffffffff')
    expect(door({ fresh: 100, retry: 100 }).gulp(10, 9)).toBe('ffffffffff')
    expect(door({ fresh: 2, retry: 100 }).gulp(10, 4)).toBe('ffrrrrrrrr')
    expect(shareOf(1)).toBe(1)
    expect(shareOf(9)).toBe(1)
    expect(shareOf(10)).toBe(2)
  })

  it.each([1, 2, 3, 4, 5, 7, 10])('of %i at a time: one turn in five is a retry, whatever waits', (room) => {
    const { gulp } = door({ fresh: 10_000, retry: 10_000 }, 100)
    let came = ''
    while (came.length < 700) came += gulp(room)
    const retries = came.split('r').length - 1
    expect(Math.abs(retries - came.length / 5)).toBeLessThan(1)
    const fewest = came.slice(0, 10).split('r').length - 1
    expect(fewest).toBeLessThanOrEqual(2)
  })

  it('asks each rank once, where only fresh ones wait', () => {
    const { gulp, asked } = door({ fresh: 100 })
    gulp(10)
    expect(asked).toEqual(['urgent', 'retry', 'fresh'])
  })
})

describe('the rank', () => {
  const urges = urgentTypes({ types: ['alarm.*'], others: ['alarm.test'] })
  const made = { type: 'order.placed', priority: undefined, spent: 0 }

  it('is urgent by the event’s own priority, or else by its type', () => {
    expect(rankOf({ ...made, priority: 'high' }, urges)).toBe('urgent')
    expect(rankOf({ ...made, priority: 'critical', spent: 3 }, urges)).toBe('urgent')
    expect(rankOf({ ...made, type: 'alarm.fire' }, urges)).toBe('urgent')
    expect(rankOf({ ...made, type: 'alarm.fire', priority: 'normal' }, urges)).toBe('fresh')
    expect(rankOf({ ...made, type: 'alarm.test' }, urges)).toBe('fresh')
    expect(rankOf({ ...made, type: 'alarm.fire' }, urgentTypes(undefined))).toBe('fresh')
  })

  it('is a retry’s where an attempt was spent in this life', () => {
    expect(rankOf(made, urges)).toBe('fresh')
    expect(rankOf({ ...made, spent: 1 }, urges)).toBe('retry')
  })
})
