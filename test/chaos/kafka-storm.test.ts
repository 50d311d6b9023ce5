import { afterAll, beforeAll, it } from 'vitest'
import { describeOwnKafka, type OwnKafka } from '../kafka/own-kafka.ts'
import { type WiredKafka, wiredKafka } from '../kafka/wired-kafka.ts'
import { brokerKilled, comeAndGo, wireCut, workersKilled } from './kafka/faults.ts'
import { told } from './kafka/told.ts'

/** The short forms; `npm run chaos -- kafka broker|workers|churn|leader|transactions|confirm|ack` are the long ones. */
describeOwnKafka('kafka under fire', () => {
  let wired: WiredKafka
  let kafka: OwnKafka
  beforeAll(async () => {
    wired = await wiredKafka()
    kafka = wired.kafka
  })
  afterAll(() => wired.close())

  it('a broker killed in mid-flow loses nothing, and doubles no more than what it left unanswered', async () => {
    const options = { brokers: kafka.brokers, events: 600, workers: 3, fault: brokerKilled(kafka, 1) }
    await told('broker killed', options)
  })

  it('the same where retries and burials are transactions: nothing is lost, and no letter is there twice', async () => {
    const options = { brokers: kafka.brokers, events: 400, workers: 3, transactions: true }
    await told('broker killed, transactions', { ...options, fault: brokerKilled(kafka, 1) })
  })

  it('workers killed in mid-flow lose nothing, and double no more than what they had in their hands', async () => {
    const options = { brokers: kafka.brokers, events: 250, workers: 2, fault: workersKilled(1) }
    await told('workers killed', options)
  })

  it('connections cut before and after confirmations and commits lose nothing, and double only what got no answer', async () => {
    const fault = wireCut(wired.shears, ['confirm', 'commit', 'produce', 'committed'], 8)
    await told('connections cut', { brokers: kafka.brokers, events: 400, workers: 2, fault })
  })

  it('a worker that comes and goes while handlers are slow loses and doubles nothing', async () => {
    const options = { brokers: kafka.brokers, events: 500, workers: 2, slow: 300, fault: comeAndGo() }
    await told('a worker comes and goes', options)
  })
})
