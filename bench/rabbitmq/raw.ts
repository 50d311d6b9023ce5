import { type ChannelModel, type ConsumeMessage, connect } from 'amqplib'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, FILL, freshName, newId, type Order, WINDOW } from '../load.ts'
import { publishing } from '../publishing.ts'

export const EXCHANGE = 'reprieve-bench'

/** `cloudEvents`: the message that ours writes, attributes in headers; else only what AMQP has properties for. */
export interface Raw {
  readonly name: string
  readonly url: string
  readonly cloudEvents: boolean
}

/** A quorum queue bound to a topic exchange, as ours: what differs is who speaks to it. */
export const openQueue = async ({ url, cloudEvents }: Raw) => {
  const connection = await connect(url, { noDelay: true })
  const queue = freshName()
  const channel = await connection.createConfirmChannel()
  await channel.assertExchange(EXCHANGE, 'topic', { durable: true })
  await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await channel.bindQueue(queue, EXCHANGE, queue)
  const publish = async (orders: readonly Order[]): Promise<void> => {
    for (const order of orders) {
      channel.publish(EXCHANGE, queue, Buffer.from(JSON.stringify(order)), {
        persistent: true,
        mandatory: true,
        contentType: 'application/json',
        ...(cloudEvents ? headed(queue) : bare(queue)),
      })
    }
    await channel.waitForConfirms()
  }
  const close = async (): Promise<void> => {
    await channel.deleteQueue(queue)
    await connection.close()
  }
  return { queue, publish, close }
}

const bare = (type: string) => ({ messageId: newId(), type, timestamp: Date.now() })

/** A CloudEvent's attributes as headers. */
export const headed = (type: string) => {
  const id = newId()
  return {
    messageId: id,
    headers: {
      'cloudEvents:specversion': '1.0',
      'cloudEvents:id': id,
      'cloudEvents:source': 'bench',
      'cloudEvents:type': type,
      'cloudEvents:time': new Date().toISOString(),
    },
  }
}

export const typeOf = ({ properties: { headers, type } }: ConsumeMessage): unknown =>
  headers?.['cloudEvents:type'] ?? type

export const rawPublishing = (raw: Raw): Contender => publishing(raw.name, () => openQueue(raw))

export const rawConsuming = (raw: Raw): Contender => ({
  name: raw.name,
  prepare: async (events): Promise<Heat> => {
    const { queue, publish, close } = await openQueue(raw)
    for (const orders of batches(events, FILL)) await publish(orders)
    const { handle, tell, seen } = counter(events)
    let connection: ChannelModel | undefined
    return {
      run: async (lead) => {
        tell(lead)
        connection = await connect(raw.url, { noDelay: true })
        await consume(connection, queue, events, handle)
        return { events: seen() }
      },
      close: async () => {
        await connection?.close()
        await close()
      },
    }
  },
})

/** Acknowledges once a turn for all that were handled in it: one frame instead of one for each. */
const consume = async (
  connection: ChannelModel,
  queue: string,
  events: number,
  handle: (order: Order) => Promise<void>,
): Promise<void> => {
  const channel = await connection.createChannel()
  await channel.prefetch(WINDOW)
  const last = Promise.withResolvers<void>()
  let handled = 0
  let planned = false
  let newest: ConsumeMessage | undefined
  await channel.consume(queue, async (message) => {
    if (!message) return last.reject(new Error('the queue was deleted'))
    if (typeOf(message) !== queue) return last.reject(new Error('an event of another type'))
    await handle(JSON.parse(message.content.toString()))
    handled++
    newest = message
    if (planned) return
    planned = true
    setImmediate(() => {
      planned = false
      channel.ack(newest!, true)
      if (handled === events) last.resolve()
    })
  })
  await last.promise
}
