import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { expectCollected } from '../../../test/collected.ts'
import { makeEvent } from '../../../test/rabbitmq/desk.ts'
import { freshParcel } from '../../core/parcel.ts'
import { virtualClock } from '../../testing/clock.ts'
import { systemDice } from '../system/dice.ts'
import type { Client, Connection } from './client.ts'
import { openTransport } from './index.ts'
import { PATIENCE } from './patience.ts'
import { readUrl } from './settings.ts'
import { declareDestination, declareOn } from './topology.ts'

/** A broker that answers everything, each time after so long. */
const slowBroker = () => {
  const clock = virtualClock()
  let takes = 0
  let published = 0
  let full = false
  const slowly = async <T>(answer: T): Promise<T> => {
    if (takes > 0) await clock.sleep(takes)
    return answer
  }
  const channel = () =>
    Object.assign(new EventEmitter(), {
      assertExchange: () => slowly({}),
      assertQueue: () => slowly({ messageCount: 0 }),
      checkQueue: () => slowly({ messageCount: 0 }),
      bindQueue: () => slowly({}),
      close: async () => {},
      publish: (_: string, __: string, ___: Buffer, ____: object, confirmed: (error: null) => void) => {
        published++
        if (full) return false
        void slowly(null).then(confirmed)
        return true
      },
    })
  let last = new EventEmitter()
  const client = {
    connect: async () => {
      last = Object.assign(new EventEmitter(), {
        createChannel: () => slowly(channel()),
        createConfirmChannel: () => slowly(channel()),
        close: async () => {},
      })
      return slowly(last as unknown as Connection)
    },
  } as unknown as Client
  const open = () =>
    openTransport(client, readUrl('amqp://host'), { clock, dice: systemDice(), journal: () => {} })
  return {
    clock,
    open,
    published: () => published,
    cut: () => last.emit('close'),
    takes: (ms: number) => {
      takes = ms
    },
    /** It reads nothing any more, and confirms nothing. */
    fill: () => {
      full = true
    },
  }
}

it.each([4000, 9000])(
  'one time for all that is done before the first byte goes out, where each answer takes %i ms',
  async (ms) => {
    const broker = slowBroker()
    const { clock } = broker
    const transport = await broker.open()
    const event = makeEvent()
    const tries = [
      () => transport.publish('t', [event]),
      () =>
        transport.forward({ service: 's', topic: 't', consumerGroup: 's' }, [
          freshParcel(event, clock.now() + 30_000),
        ]),
    ]
    for (const send of tries) {
      broker.takes(0)
      broker.cut()
      broker.takes(ms)
      const start = clock.now()
      const sent = send().then(
        () => 'kept',
        (error) => error.code,
      )
      expect(await clock.runUntil(sent)).toBe('unavailable')
      expect(clock.now() - start).toBeLessThanOrEqual(PATIENCE)
      expect(broker.published()).toBe(0)
      await clock.advance(100_000)
    }
    broker.takes(0)
    await clock.runUntil(transport.publish('t', [event]))
    expect(broker.published()).toBe(1)
    await clock.runUntil(transport.close())
  },
)

it('what found no room in the buffer is kept by nobody when it was refused', async () => {
  const broker = slowBroker()
  const { clock } = broker
  const transport = await broker.open()
  broker.fill()
  const publish = async (): Promise<WeakRef<object>> => {
    const data = Buffer.alloc(100_000)
    const refused = transport.publish('t', [makeEvent({ data })]).catch(({ code }) => code)
    expect(await clock.runUntil(refused)).toBe('unavailable')
    return new WeakRef(data.buffer)
  }
  await publish() // fills it
  await expectCollected([await publish(), await publish()])
  expect(broker.published()).toBe(1)
  await clock.runUntil(transport.close())
})

it('a channel that opens when the time for declaring is over is closed', async () => {
  const clock = virtualClock()
  const closed: number[] = []
  let opened = 0
  const connection = {
    createChannel: async () => {
      const number = ++opened
      await clock.sleep(9000)
      return Object.assign(new EventEmitter(), {
        checkQueue: () => Promise.reject(Object.assign(new Error("no queue 'q'"), { code: 404 })),
        assertQueue: () => new Promise(() => {}),
        close: async () => void closed.push(number),
      })
    },
  } as unknown as Connection
  const declared = declareOn(connection, clock, 'host', declareDestination({ name: 'q' })).catch(
    ({ code }) => code,
  )
  expect(await clock.runUntil(declared)).toBe('unavailable')
  await clock.advance(60_000)
  expect(opened).toBe(2)
  expect(closed.sort()).toEqual([1, 2])
})
