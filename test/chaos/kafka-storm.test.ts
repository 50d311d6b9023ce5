import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../kafka/own-kafka.ts'
import { brokerKilled, comeAndGo, leaderLost } from './kafka/faults.ts'
import { poisonRace } from './kafka/poison.ts'
import { type StormOptions, type StormResult, storm } from './kafka/storm.ts'

const PATIENCE = 150_000

const told = async (name: string, options: Omit<StormOptions, 'patience'>): Promise<StormResult> => {
  const result = await storm({ ...options, patience: PATIENCE })
  console.log(`kafka ${name}: ${JSON.stringify({ ...result, missing: result.missing.length })}`)
  expect(result.missing).toEqual([])
  expect(result.published).toBeGreaterThanOrEqual(options.events)
  expect(result.done).toBeGreaterThan(options.events * 0.9)
  expect(result.dead).toBeGreaterThan(0)
  expect(result.uncommitted).toBe(0)
  return result
}

/** The short forms; `npm run chaos -- kafka broker|churn|leader|transactions` are the long ones. */
describeOwnKafka('kafka under fire', () => {
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await ownKafka()
  }, 120_000)
  afterAll(() => kafka.close())

  it('a broker killed in mid-flow loses nothing, and doubles no more than what it left unanswered', async () => {
    const options = { brokers: kafka.brokers, events: 1_200, workers: 3, fault: brokerKilled(kafka, 1) }
    const { doubled, both } = await told('broker killed', options)
    expect(doubled + both).toBeLessThanOrEqual(10)
  }, 200_000)

  it('the same with transactions', async () => {
    const rules = ['transactions: true']
    const options = {
      brokers: kafka.brokers,
      events: 1_000,
      workers: 2,
      rules,
      fault: brokerKilled(kafka, 1),
    }
    const { doubled, buriedTwice, both } = await told('broker killed, with transactions', options)
    expect({ buriedTwice, both }).toEqual({ buriedTwice: 0, both: 0 })
    expect(doubled).toBeLessThanOrEqual(10)
  }, 200_000)

  it('poison in front of a partition leaves the others at nine tenths of their rate at least', {
    retry: 2,
    timeout: 120_000,
  }, async () => {
    const result = await poisonRace(kafka.brokers[0]!, 1_500)
    console.log(`kafka poison: ${JSON.stringify(result)}`)
    expect(result.ratio).toBeGreaterThanOrEqual(0.9)
  })

  it('a worker that comes and goes while handlers are slow loses and doubles nothing', async () => {
    const options = { brokers: kafka.brokers, events: 800, workers: 2, slow: 400, fault: comeAndGo() }
    const { doubled, both } = await told('a worker comes and goes', options)
    expect({ doubled, both }).toEqual({ doubled: 0, both: 0 })
  }, 200_000)
})

describeOwnKafka('three kafka brokers under fire', () => {
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await ownKafka({ brokers: 3 })
  }, 180_000)
  afterAll(() => kafka.close())

  it('that lose the leader of a partition lose no event', async () => {
    const options = { brokers: kafka.brokers, events: 1_000, workers: 2, fault: leaderLost(kafka) }
    await told('leader lost', options)
  }, 240_000)
})
