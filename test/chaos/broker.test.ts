import { expect, it } from 'vitest'
import { describeOwnBroker } from '../rabbitmq/own-broker.ts'
import { brokerTest, type Fault } from './broker/run.ts'

/** Of a worker that is killed: it may have made its effect and not yet have said so. */
const IN_HANDS = 20

describeOwnBroker('a RabbitMQ under fire', () => {
  it('loses no event and doubles no effect of those who live and are answered, whatever is cut or killed', async () => {
    const blows: Fault[] = ['confirm', 'ack', 'joining', 'broker', 'consumer', 'joining', 'ack', 'confirm']
    const result = await brokerTest({ events: 1200, workers: 2, blows, patience: 120_000 })
    console.log(`RabbitMQ under fire: ${JSON.stringify(result)}`)
    const { missing, wrong, beyond, left } = result
    expect({ missing, wrong, beyond, left }).toEqual({ missing: [], wrong: [], beyond: [], left: [] })
    expect(result.done + result.dead).toBe(1200)
    expect(result.unexplained).toBeLessThanOrEqual(IN_HANDS)
    expect(result.cuts).toBeGreaterThanOrEqual(2)
  }, 180_000)
})
