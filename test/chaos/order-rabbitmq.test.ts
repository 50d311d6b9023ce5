import { expect, it } from 'vitest'
import { describeOwnBroker } from '../rabbitmq/own-broker.ts'
import { describeWith } from '../services/urls.ts'
import { ownSchema } from '../stores/postgres.ts'
import { rabbitmqGuests, rabbitmqKilled } from './order/brokers.ts'
import { rabbitmqCut } from './order/cuts.ts'
import { keepsOrder } from './order/killed.ts'
import { told } from './order/told.ts'
import { PATIENCE } from './patience.ts'

describeWith('amqp', 'order by key with a worker killed in mid-flow, on a real RabbitMQ', (url) => {
  it('is kept beside RabbitMQ', keepsOrder(url))

  describeWith('postgres', 'with a store in a real PostgreSQL', (postgres) => {
    it('is kept with PostgreSQL beside RabbitMQ', () => keepsOrder(url, ownSchema(postgres))())
  })
})

describeOwnBroker('order by key beside a RabbitMQ under fire', () => {
  it('is kept beside a RabbitMQ that is killed and started again', async () => {
    const run = { events: 600, keys: 25, kills: 1, patience: PATIENCE }
    await told('the RabbitMQ killed', run, rabbitmqKilled)
  })

  it('is kept, and nothing is lost, when connections are cut before confirms, deliveries and acks', async () => {
    const run = { events: 900, keys: 30, kills: 6, patience: PATIENCE }
    await told('connections to RabbitMQ cut', run, rabbitmqCut)
  })

  it('is kept, and nothing is lost, when a third worker joins and leaves', async () => {
    const run = { events: 600, keys: 30, kills: 1, patience: PATIENCE }
    const { workers } = await told('a worker comes and goes at RabbitMQ', run, rabbitmqGuests)
    expect(workers).toBe(3)
  })
})
