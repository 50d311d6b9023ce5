import { afterAll, beforeAll, it } from 'vitest'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../kafka/own-kafka.ts'
import { leaderLost } from './kafka/faults.ts'
import { told } from './kafka/told.ts'

describeOwnKafka('three kafka brokers under fire', () => {
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await ownKafka({ brokers: 3 })
  })
  afterAll(() => kafka.close())

  it('that lose the leader of a partition lose no event', async () => {
    const options = { brokers: kafka.brokers, events: 600, workers: 2, fault: leaderLost(kafka) }
    await told('leader lost', options)
  })
})
