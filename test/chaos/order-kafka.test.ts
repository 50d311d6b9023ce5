import { expect, it } from 'vitest'
import { describeOwnKafka } from '../kafka/own-kafka.ts'
import { kafkaGuests, kafkaKilled, kafkaLeaderLost } from './order/brokers.ts'
import { kafkaCut } from './order/cuts.ts'
import { told } from './order/told.ts'
import { PATIENCE } from './patience.ts'

/** The short forms; `npm run chaos -- order kafka-broker|kafka-leader|kafka-cuts|kafka-guests` are the long ones. */
describeOwnKafka('order by key beside a Kafka under fire', () => {
  it('is kept, and nothing is lost, when a third worker joins and leaves while keys are in retry', async () => {
    const run = { events: 900, keys: 30, kills: 2, patience: PATIENCE }
    const { workers } = await told('a worker comes and goes', run, kafkaGuests)
    expect(workers).toBeGreaterThanOrEqual(3)
  })

  it('is kept, and nothing is lost, when the broker is killed and started again while keys are in retry', async () => {
    const run = { events: 600, keys: 30, kills: 1, patience: PATIENCE }
    await told('the Kafka killed', run, kafkaKilled)
  })

  it('is kept, and nothing is lost, when connections are cut before and after confirmations and commits', async () => {
    const run = { events: 900, keys: 30, kills: 8, patience: PATIENCE }
    await told('connections to Kafka cut', run, kafkaCut)
  })

  it('is kept, and nothing is lost, when one of three brokers is killed that leads a partition', async () => {
    const run = { events: 600, keys: 30, kills: 1, patience: PATIENCE }
    await told('the leader lost', run, kafkaLeaderLost)
  })
})
