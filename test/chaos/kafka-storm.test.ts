import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../kafka/own-kafka.ts'
import { brokerKilled, comeAndGo } from './kafka/faults.ts'
import { poisonRace } from './kafka/poison.ts'
import { told } from './kafka/told.ts'

/** The short forms; `npm run chaos -- kafka broker|churn|leader|transactions` are the long ones. */
describeOwnKafka('kafka under fire', () => {
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await ownKafka()
  }, 120_000)
  afterAll(() => kafka.close())

  it('a broker killed in mid-flow loses nothing, and doubles no more than what it left unanswered', async () => {
    const options = { brokers: kafka.brokers, events: 600, workers: 3, fault: brokerKilled(kafka, 1) }
    const { inexcusable } = await told('broker killed', options)
    expect(inexcusable).toEqual([])
  }, 200_000)

  it('the same where retries and burials are transactions: nothing is lost, and no letter is there twice', async () => {
    const options = { brokers: kafka.brokers, events: 400, workers: 3, rules: ['transactions: true'] }
    const result = await told('broker killed, transactions', { ...options, fault: brokerKilled(kafka, 1) })
    expect(result.buriedTwice).toBe(0)
    expect(result.inexcusable).toEqual([])
  }, 200_000)

  it('poison in front of a partition leaves the others at nine tenths of their rate at least', {
    retry: 2,
    timeout: 120_000,
  }, async () => {
    const result = await poisonRace(kafka.brokers[0]!, 1_000)
    console.log(`kafka poison: ${JSON.stringify(result)}`)
    expect(result.ratio).toBeGreaterThanOrEqual(0.9)
  })

  it('a worker that comes and goes while handlers are slow loses and doubles nothing', async () => {
    const options = { brokers: kafka.brokers, events: 500, workers: 2, slow: 300, fault: comeAndGo() }
    const { doubled, both } = await told('a worker comes and goes', options)
    expect({ doubled, both }).toEqual({ doubled: 0, both: 0 })
  }, 200_000)
})
