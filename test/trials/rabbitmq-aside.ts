import { connect } from 'amqplib'
import type { Open } from '../../src/contracts/adapter.ts'
import type { TrialWorld } from '../../src/testing/trials/index.ts'

/** A connection past the adapter: writes straight to a subscription's queue, and clears away in the end. */
export const aside = (url: string) => {
  const connecting = connect(url)
  const opening = connecting.then((connection) => connection.createConfirmChannel())
  const put: NonNullable<TrialWorld['raw']>['put'] = async (to, { contentType, headers, body }) => {
    const channel = await opening
    channel.sendToQueue(`${to.service}.${to.topic}`, Buffer.from(body ?? []), {
      persistent: true,
      headers,
      ...(contentType && { contentType }),
    })
    await channel.waitForConfirms()
  }
  const close = async (queues: Iterable<string>) => {
    const channel = await opening
    for (const queue of queues) {
      await channel.deleteQueue(queue)
      await channel.deleteExchange(`${queue}.dlx`)
    }
    await (await connecting).close()
  }
  return { put, close }
}

/** Notes every queue that the trials make. */
export const noting = (open: Open, queues: Set<string>): Open => {
  return async (url, tools) => {
    const transport = (await open(url, tools)).transport!
    return {
      transport: {
        ...transport,
        subscribe: (to) => {
          for (const { name } of to.destinations) queues.add(name)
          queues.add(`${to.service}.${to.topic}`)
          return transport.subscribe(to)
        },
        collect: (destination) => {
          queues.add(destination.name)
          return transport.collect(destination)
        },
      },
    }
  }
}
