import { EventEmitter } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { virtualClock } from '../../testing/clock.ts'
import type { Consumer } from './client.ts'
import { joiningOf } from './joining.ts'

const topics = Object.assign(new Set<string>(), { track: () => {}, untrack: () => {} })

/** A member whose client is joining again by itself, and which has to join with a topic more. Real ones: lonely.test.ts. */
const stage = async () => {
  const clock = virtualClock()
  const joinGroup = vi.fn(async () => {})
  const consumer = Object.assign(new EventEmitter(), { topics, joinGroup })
  const joining = joiningOf({
    consumer: consumer as unknown as Consumer,
    host: {
      topics: () => ['orders'],
      squeezes: false,
      carriesParcels: () => false,
      window: () => 10,
      ensure: async () => {},
    },
    clock,
    left: new AbortController().signal,
    trouble: () => {},
  })
  joining.asks()
  joining.join()
  await clock.advance(10_000)
  expect(joinGroup).not.toHaveBeenCalled()
  return { clock, consumer, joinGroup }
}

describe('a member whose client joins again by itself', () => {
  it.each(['consumer:group:join', 'consumer:rejoin', 'error'])(
    'joins when that is over, which is told by %s',
    async (told) => {
      const { clock, consumer, joinGroup } = await stage()
      consumer.emit(told, new Error('joining failed'))
      await clock.advance(1)
      expect(joinGroup).toHaveBeenCalled()
    },
  )

  it('joins though nobody tells that it is over', async () => {
    const { clock, joinGroup } = await stage()
    await clock.advance(10_000)
    expect(joinGroup).toHaveBeenCalled()
  })
})
