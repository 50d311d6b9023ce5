import { connect } from 'amqplib'

/** What these services left on RabbitMQ; the office's own queue stays, as everywhere. */
export const sweep = async (
  url: string,
  subscriptions: readonly (readonly [service: string, topic: string])[],
): Promise<void> => {
  if (!url.startsWith('amqp')) return
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (const [service, topic] of subscriptions) {
    const queue = `${service}.${topic}`
    for (const each of [queue, `_${topic}.deadletter`, `_${topic}.quarantine`, `_${service}.quarantine`])
      await channel.deleteQueue(each)
    await channel.deleteExchange(`${queue}.dlx`)
  }
  await connection.close()
}
