import { type ChannelModel, type ConsumeMessage, connect } from 'amqplib'
import { WAIT } from '../beside-broker.ts'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, FILL, type Order, WINDOW } from '../load.ts'
import { openQueue, type Raw, typeOf } from './raw.ts'

const TRIES = 'tries'

/** Where a failed message waits before it goes home: as durable as ours, which means that its expiry loses nothing either. */
export const waitQueue = (home: string) => ({
  durable: true,
  arguments: {
    'x-queue-type': 'quorum',
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
    'x-message-ttl': WAIT,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': home,
  },
})

/**
 * The loop that everybody writes: what fails is published to a queue where it waits, confirmed, and acknowledged then. All
 * that came in while the last ones were confirmed is one batch.
 */
export const rawFailingOnce = (raw: Raw): Contender => ({
  name: raw.name,
  prepare: async (events): Promise<Heat> => {
    const { queue, publish, close } = await openQueue(raw)
    for (const orders of batches(events, FILL)) await publish(orders)
    const { handle, seen } = counter(events)
    const waiting = `${queue}.wait`
    let connection: ChannelModel | undefined
    return {
      run: async () => {
        connection = await connect(raw.url, { noDelay: true })
        await (await connection.createChannel()).assertQueue(waiting, waitQueue(queue))
        await consume(connection, queue, waiting, events, handle)
        return { events: seen() }
      },
      close: async () => {
        await (await connection?.createChannel())?.deleteQueue(waiting)
        await connection?.close()
        await close()
      },
    }
  },
})

const consume = async (
  connection: ChannelModel,
  queue: string,
  waiting: string,
  events: number,
  handle: (order: Order) => Promise<void>,
): Promise<void> => {
  const channel = await connection.createChannel()
  const out = await connection.createConfirmChannel()
  await channel.prefetch(WINDOW)
  const last = Promise.withResolvers<void>()
  let handled = 0
  let arrived: ConsumeMessage[] = []
  let working = false

  const attempt = async (message: ConsumeMessage): Promise<void> => {
    if (typeOf(message) !== queue) throw new Error('an event of another type')
    const order: Order = JSON.parse(message.content.toString())
    await null
    const { headers = {} } = message.properties
    if (headers[TRIES] === undefined) throw new Error('the first attempt fails')
    await handle(order)
    handled++
  }
  const again = ({ content, properties }: ConsumeMessage): void => {
    const { headers, contentType, messageId } = properties
    out.sendToQueue(waiting, content, {
      persistent: true,
      mandatory: true,
      contentType,
      messageId,
      headers: { ...headers, [TRIES]: 1 },
    })
  }
  const work = async (): Promise<void> => {
    working = true
    while (arrived.length > 0) {
      const batch = arrived
      arrived = []
      let failed = 0
      for (const message of batch) {
        try {
          await attempt(message)
        } catch {
          again(message)
          failed++
        }
      }
      if (failed > 0) await out.waitForConfirms()
      channel.ack(batch.at(-1)!, true)
    }
    working = false
    if (handled === events) last.resolve()
  }
  await channel.consume(queue, (message) => {
    if (!message) return last.reject(new Error('the queue was deleted'))
    arrived.push(message)
    // what comes in one turn is one batch
    if (!working) {
      working = true
      setImmediate(() => work().catch(last.reject))
    }
  })
  await last.promise
}
