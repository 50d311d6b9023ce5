import { describe, expect, it, onTestFinished } from 'vitest'
import { describeOwnBroker } from '../rabbitmq/own-broker.ts'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { describeOwn, ownPostgres } from '../stores/own-server.ts'
import { ownSchema } from '../stores/postgres.ts'
import { rabbitmqGuests, rabbitmqKilled } from './order/brokers.ts'
import { rabbitmqCut } from './order/cuts.ts'
import { orderTest } from './order/run.ts'
import { told } from './order/told.ts'

const WORKERS_KILLED = { events: 2000, keys: 50, kills: 2, patience: 150_000, ofWorkers: true }

/** Each key's effects happened in the order in which its events were published, and none is missing. */
const keepsOrder = (transport: string, store?: string) => () =>
  told(`a worker killed, ${schemeOf(transport)} and ${schemeOf(store ?? 'sqlite')}`, WORKERS_KILLED, (run) =>
    orderTest({ ...run, transport, ...(store !== undefined && { store }) }),
  )

const schemeOf = (url: string): string => url.split(':')[0]!

describe('order by key with a worker killed in mid-flow', () => {
  it('is kept on SQLite', keepsOrder('sqlite'), 180_000)
})

describeWith('amqp', 'order by key with a worker killed in mid-flow, on a real RabbitMQ', (url) => {
  it('is kept beside RabbitMQ', keepsOrder(url), 180_000)
})

describeOwnBroker('order by key beside a RabbitMQ under fire', () => {
  it('is kept beside a RabbitMQ that is killed and started again', async () => {
    const run = { events: 600, keys: 25, kills: 1, patience: 150_000 }
    await told('the RabbitMQ killed', run, rabbitmqKilled)
  }, 180_000)

  it('is kept, and nothing is lost, when connections are cut before confirms, deliveries and acks', async () => {
    const run = { events: 900, keys: 30, kills: 6, patience: 150_000 }
    await told('connections to RabbitMQ cut', run, rabbitmqCut)
  }, 180_000)

  it('is kept, and nothing is lost, when a third worker joins and leaves', async () => {
    const run = { events: 600, keys: 30, kills: 1, patience: 150_000 }
    const { workers } = await told('a worker comes and goes at RabbitMQ', run, rabbitmqGuests)
    expect(workers).toBe(3)
  }, 180_000)
})

describeWith('kafka', 'order by key with a worker killed in mid-flow, on a real Kafka', (url) => {
  it('is kept beside Kafka', keepsOrder(kafkaUrl(url)), 180_000)
})

describeWith('postgres', 'order by key with a worker killed in mid-flow, in a real PostgreSQL', (url) => {
  it('is kept on PostgreSQL', () => {
    const place = ownSchema(url)
    return keepsOrder(place, place)()
  }, 180_000)

  describeWith('amqp', 'beside a real RabbitMQ', (amqp) => {
    it('is kept with PostgreSQL beside RabbitMQ', () => keepsOrder(amqp, ownSchema(url))(), 180_000)
  })

  describeWith('kafka', 'beside a real Kafka', (kafka) => {
    it('is kept with PostgreSQL beside Kafka', () => keepsOrder(kafkaUrl(kafka), ownSchema(url))(), 180_000)
  })
})

describeOwn('postgres', 'order by key with PostgreSQL killed in mid-flow', () => {
  describeWith('kafka', 'beside a real Kafka', (kafka) => {
    it('is kept beside Kafka when PostgreSQL is killed and started again', async () => {
      const server = await ownPostgres()
      onTestFinished(() => server.close())
      const blow = async () => {
        await server.kill()
        await server.start()
      }
      const run = { events: 600, keys: 25, kills: 2, patience: 150_000 }
      await told('the PostgreSQL beside Kafka killed', run, (asked) =>
        orderTest({ ...asked, transport: kafkaUrl(kafka), store: server.url, blow }),
      )
    }, 180_000)
  })
})
