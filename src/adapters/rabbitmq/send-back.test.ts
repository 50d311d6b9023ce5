import { expect, it } from 'vitest'
import { deskAt, makeEvent } from '../../../test/rabbitmq/desk.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Json } from '../../core/json.ts'
import { addressOf } from './returning.ts'

describeWith('amqp', 'foreign letters that go back by RabbitMQ', (url) => {
  const desk = deskAt(url)

  it('where one came from another broker, or says no place at all, it is refused for good, and the others go', async () => {
    const queue = desk.queue('work')
    const other = desk.queue('other')
    const channel = await desk.channel()
    for (const each of [queue, other]) await channel.assertQueue(each)
    const transport = await desk.transport()
    const good = addressOf('', queue, { messageId: 'm', headers: {} }) as unknown as { [name: string]: Json }
    const { properties, headers } = good as { properties: object; headers: object }
    const addresses: Json[] = [
      null,
      'x',
      { topic: 'orders', partition: 3, key: null, headers: [] },
      { ...good, exchange: 5 },
      { ...good, key: 'k'.repeat(300) },
      { ...good, headers: null },
      {
        ...good,
        properties: { ...properties, CC: other, messageId: 5 },
        headers: { ...headers, CC: [other] },
      },
      good,
    ]
    const answers = await transport.sendBack!(
      addresses.map((address) => ({
        origin: { to: 'where it was', address },
        event: makeEvent(),
        headers: {},
      })),
    )
    const hopeless = expect.objectContaining({ code: 'unheard', fix: expect.stringContaining('foreign') })
    expect(answers).toEqual([...addresses.slice(0, 6).map(() => hopeless), undefined, undefined])
    expect((await channel.checkQueue(queue)).messageCount).toBe(2)
    expect((await channel.checkQueue(other)).messageCount).toBe(0)
  })
})
