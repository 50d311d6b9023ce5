import { createRequire } from 'node:module'
import type { Contender, Heat } from '../harness.ts'
import { batches, counter, FILL, type Order, WINDOW } from '../load.ts'
import { publishing } from '../publishing.ts'
import { waitQueue } from './failing.ts'
import { EXCHANGE, headed, openQueue, type Raw } from './raw.ts'

/** The few of its members that are used here; the package brings no types. */
interface Rascal {
  BrokerAsPromised: { create(config: object): Promise<Broker> }
  withDefaultConfig(config: object): object
}
interface Broker {
  subscribe(name: string): Promise<Subscription>
  publish(name: string, data: Order, overrides: object): Promise<Publication>
  on(event: 'error', listener: (error: Error) => void): void
  shutdown(): Promise<void>
}
interface Subscription {
  on(event: 'message', listener: (message: unknown, content: Order, ackOrNack: AckOrNack) => void): void
  on(event: 'error', listener: (error: Error) => void): void
  cancel(): Promise<void>
}
interface Publication {
  on(event: 'success', listener: () => void): Publication
  on(event: 'return' | 'error', listener: (why: unknown) => void): Publication
}
type AckOrNack = (error?: Error, recovery?: readonly object[]) => void

const { BrokerAsPromised, withDefaultConfig } = createRequire(import.meta.url)('rascal') as Rascal

/**
 * rascal, with the same prefetch, on the same queue. What fails is forwarded to a queue where it waits, confirmed, and
 * acknowledged then: of its recoveries the one that survives a crash.
 */
export const rascalConsuming = (raw: Omit<Raw, 'name'>, failsOnce = false): Contender => ({
  name: 'rascal',
  prepare: async (events): Promise<Heat> => {
    const { queue, publish, close } = await openQueue({ ...raw, name: 'rascal' })
    for (const orders of batches(events, FILL)) await publish(orders)
    const { handle, tell, seen } = counter(events)
    const waiting = `${queue}.wait`
    const config = withDefaultConfig({
      vhosts: {
        [vhostOf(raw.url)]: {
          connection: { url: raw.url, socketOptions: { noDelay: true } },
          exchanges: [''],
          queues: {
            [queue]: { assert: false, check: true },
            ...(failsOnce && { [waiting]: { options: waitQueue(queue) } }),
          },
          subscriptions: { orders: { queue, prefetch: WINDOW } },
          ...(failsOnce && {
            publications: {
              wait: { queue: waiting, confirm: true, options: { persistent: true, mandatory: true } },
            },
          }),
        },
      },
    })
    let broker: Broker | undefined
    return {
      run: async (lead) => {
        tell(lead)
        broker = await BrokerAsPromised.create(config)
        const last = Promise.withResolvers<void>()
        broker.on('error', last.reject)
        const subscription = await broker.subscribe('orders')
        subscription.on('error', last.reject)
        let handled = 0
        subscription.on('message', async (message, order, ackOrNack) => {
          await null
          if (failsOnce && !wasForwarded(message, queue)) {
            ackOrNack(new Error('the first attempt fails'), [
              { strategy: 'forward', publication: 'wait', attempts: 1, restoreRoutingHeaders: false },
            ])
            return
          }
          await handle(order)
          ackOrNack()
          if (++handled === events) setImmediate(last.resolve)
        })
        await last.promise
        return { events: seen() }
      },
      close: async () => {
        await broker?.shutdown()
        await close()
        if (failsOnce) await dropQueue(raw.url, waiting)
      },
    }
  },
})

/** rascal, to the same exchange: persistent, mandatory and confirmed, by its own pool of channels. */
export const rascalPublishing = (raw: Omit<Raw, 'name'>): Contender =>
  publishing('rascal', async () => {
    const { queue, close } = await openQueue({ ...raw, name: 'rascal' })
    const options = { persistent: true, mandatory: true }
    const broker = await BrokerAsPromised.create(
      withDefaultConfig({
        vhosts: {
          [vhostOf(raw.url)]: {
            connection: { url: raw.url, socketOptions: { noDelay: true } },
            exchanges: { [EXCHANGE]: { assert: false, check: true } },
            publications: { orders: { exchange: EXCHANGE, routingKey: queue, confirm: true, options } },
          },
        },
      }),
    )
    const publishOne = async (order: Order): Promise<void> => {
      const publication = await broker.publish('orders', order, { options: headed(queue) })
      await new Promise<void>((resolve, reject) => {
        publication.on('success', resolve).on('return', reject).on('error', reject)
      })
    }
    return {
      publish: async (orders) => {
        await Promise.all(orders.map(publishOne))
      },
      close: async () => {
        await broker.shutdown()
        await close()
      },
    }
  })

const wasForwarded = (message: unknown, queue: string): boolean => {
  const { headers } = (
    message as { properties: { headers: { rascal?: { recovery?: Record<string, unknown> } } } }
  ).properties
  return headers.rascal?.recovery?.[queue] !== undefined
}

const vhostOf = (url: string): string => decodeURIComponent(new URL(url).pathname.slice(1)) || '/'

const dropQueue = async (url: string, queue: string): Promise<void> => {
  const { connect } = await import('amqplib')
  const connection = await connect(url)
  await (await connection.createChannel()).deleteQueue(queue)
  await connection.close()
}
