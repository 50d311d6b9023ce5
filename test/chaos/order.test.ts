import { describe, expect, it } from 'vitest'
import { describeOwnBroker, ownBroker } from '../rabbitmq/own-broker.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { orderTest } from './order.ts'

const EVENTS = 2000
const KEYS = 50

/** Each key's effects happened in the order in which its events were published, and none is missing. */
const keepsOrder = (transport: string) => async () => {
  const { byKey, ...rest } = await orderTest({
    transport,
    events: EVENTS,
    keys: KEYS,
    kills: 2,
    patience: 150_000,
  })
  console.log(`order test on ${transport.split(':')[0]}: ${JSON.stringify(rest)}`)
  const wanted = Array.from({ length: EVENTS / KEYS }, (_, n) => n)
  for (let k = 0; k < KEYS; k++) expect(byKey.get(`k${k}`), `key k${k}`).toEqual(wanted)
  expect(rest.wentBack).toBe(0)
  expect(rest.kills).toBe(2)
  expect(rest.workers).toBeGreaterThan(2)
}

describe('order by key with a worker killed in mid-flow', () => {
  it('is kept on SQLite', keepsOrder('sqlite'), 180_000)
})

describeWith('amqp', 'order by key with a worker killed in mid-flow, on a real RabbitMQ', (url) => {
  it('is kept beside RabbitMQ', keepsOrder(url), 180_000)
})

describeOwnBroker('order by key with the broker killed in mid-flow', () => {
  it('is kept beside a RabbitMQ that is killed and started again', async () => {
    const broker = await ownBroker()
    try {
      const blow = async () => {
        await broker.kill()
        await broker.start()
      }
      const options = { transport: broker.url, events: 600, keys: 25, kills: 1, blow, patience: 150_000 }
      const { byKey, ...rest } = await orderTest(options)
      console.log(`order test with the broker killed: ${JSON.stringify(rest)}`)
      const wanted = Array.from({ length: 600 / 25 }, (_, n) => n)
      for (let k = 0; k < 25; k++) expect(byKey.get(`k${k}`), `key k${k}`).toEqual(wanted)
      expect(rest).toMatchObject({ wentBack: 0, doubled: 0, kills: 1 })
    } finally {
      await broker.close()
    }
  }, 180_000)
})

describeWith('kafka', 'order by key with a worker killed in mid-flow, on a real Kafka', (url) => {
  it('is kept beside Kafka', keepsOrder(kafkaUrl(url)), 180_000)
})
