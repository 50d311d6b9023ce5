import { expect, it } from 'vitest'
import { describeOwnBroker } from '../rabbitmq/own-broker.ts'
import { brokerTest, type Fault } from './broker/run.ts'
import { complaints } from './broker/verdict.ts'
import { PATIENCE } from './patience.ts'

/** So that whoever joins and leaves does it in the midst of work. */
const SLOWNESS = 400

describeOwnBroker('a RabbitMQ under fire', () => {
  it('loses no event and doubles no effect of those who live and are answered, whatever is cut or killed', async () => {
    // cuts first: they need frames to come, of which there are few near the end
    const blows: Fault[] = ['confirm', 'ack', 'confirm', 'ack', 'joining', 'broker', 'consumer', 'joining']
    const run = { events: 1200, workers: 2, blows, slowness: SLOWNESS }
    const result = await brokerTest({ ...run, patience: PATIENCE })
    console.log(`RabbitMQ under fire: ${JSON.stringify(result)}`)
    expect(complaints(result, run)).toEqual([])
  })
})
