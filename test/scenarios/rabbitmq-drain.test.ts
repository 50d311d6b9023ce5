import { connect } from 'amqplib'
import { it } from 'vitest'
import { openProxy } from '../faults/proxy.ts'
import { describeWith } from '../services/urls.ts'
import { FAULTS, leavesWhile } from './leaving.ts'

const clear = async (url: string, queues: readonly string[]): Promise<void> => {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (const queue of queues) {
    await channel.deleteQueue(queue)
    await channel.deleteExchange(`${queue}.dlx`)
  }
  await connection.close()
}

describeWith('amqp', 'an app that leaves while RabbitMQ does not answer', (url) => {
  it.each(FAULTS)('%s: handlers finish, nobody waits for ever, and nothing is lost', async (_, fault) => {
    const wire = await openProxy(url)
    const through = new URL(wire.url)
    through.search = '?heartbeat=2'
    const { name, destinations } = await leavesWhile(fault, { wire, through: through.href, mended: url })
    await wire.close()
    await clear(url, [`${name}.${name}`, ...destinations])
  })
})
