import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { virtualClock } from '../../testing/clock.ts'
import type { Connection, Message } from './client.ts'
import { freshCounts } from './counts.ts'
import { beginSession } from './session.ts'

it('what had arrived when a session ends is let go: its broker counts it as waiting, and hands it over again', async () => {
  let deliver = (_: Message): void => {}
  const channel = Object.assign(new EventEmitter(), {
    prefetch: async () => ({}),
    consume: async (_: string, take: typeof deliver) => {
      deliver = take
      return { consumerTag: 'c' }
    },
  })
  const connection = { createChannel: async () => channel } as unknown as Connection
  const door = { queue: 'q', alone: false, window: 10, place: 'host', collects: false, told: () => {} }
  const session = await beginSession(connection, door, virtualClock(), freshCounts())
  deliver({
    content: Buffer.alloc(1),
    fields: { deliveryTag: 1, redelivered: false, exchange: '', routingKey: 'q' },
    properties: {},
  })
  expect(session.waiting.length).toBe(1)
  channel.emit('close')
  expect(session.ended()).toBe(true)
  expect(session.waiting).toEqual([])
})
