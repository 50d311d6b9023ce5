import { connect } from 'amqplib'

/** Deletes what a service with one topic left on a broker that others use too. */
export const sweep = async (url: string, service: string, topic: string): Promise<void> => {
  const model = await connect(url)
  const channel = await model.createChannel()
  const queue = `${service}.${topic}`
  for (const each of [queue, `_${service}.deadletter`, `_${service}.deadletter.quarantine`])
    await channel.deleteQueue(each)
  await channel.deleteExchange(`${queue}.dlx`)
  await model.close()
}
