import { expect, it } from 'vitest'
import { describeWith, kafkaUrl } from '../services/urls.ts'
import { BAD, GOOD, roundsBehind, SLOTS } from './poison.ts'

/** I7: what the others must keep. The rate itself is raced in `npm run bench -- rabbitmq|kafka --race poison`. */
const FAIR = 0.9

const keepsItsSlots = async (transport: string): Promise<void> => {
  const without = await roundsBehind(transport, false)
  expect(without).toEqual({ rounds: GOOD / SLOTS, bad: 0, retried: 0 })
  const behind = await roundsBehind(transport, true)
  console.log(`poison in front: ${without.rounds / behind.rounds} ${JSON.stringify(behind)}`)
  expect(without.rounds / behind.rounds).toBeGreaterThanOrEqual(FAIR)
  expect(behind.bad).toBeGreaterThanOrEqual(BAD)
  expect(behind.retried).toBeGreaterThan(0)
}

describeWith('amqp', 'poison in front of a RabbitMQ queue', (url) => {
  it('leaves the others nine tenths of the slots at least', () => keepsItsSlots(url))
})

describeWith('kafka', 'poison in front of a Kafka partition', (url) => {
  it('leaves the others nine tenths of the slots at least', () =>
    keepsItsSlots(`${kafkaUrl(url)}?partitions=1`))
})
