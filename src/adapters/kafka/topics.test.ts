import { Admin, ConfigResourceTypes } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../../../test/kafka/own-kafka.ts'
import { virtualClock } from '../../testing/clock.ts'
import { realWorld } from '../../testing/trials/index.ts'
import { makeSubscription } from '../../testing/trials/kit.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'
import { retryTopics } from './tiers.ts'
import { topicsOf } from './topics.ts'
import type { Wire } from './wire.ts'

interface Partition {
  readonly leader: number
  readonly offlineReplicas: readonly number[]
}

const LED: Partition = { leader: 1, offlineReplicas: [] }

/** A broker that has one topic, as the test says. Real ones: transport.test.ts, sick.test.ts. */
const stage = (partitions: Partition[]) => {
  const clock = virtualClock()
  const looks: string[][] = []
  const wire = {
    settings: { brokers: ['here'] },
    tools: { clock },
    admin: {
      metadata: async ({ topics }: { topics: string[] }) => {
        looks.push(topics)
        return { topics: new Map([['orders', { partitions, partitionsCount: partitions.length }]]) }
      },
    },
  } as unknown as Wire
  const topics = topicsOf(wire)
  const ensure = () => topics.ensure([{ name: 'orders', partitions: 1 }])
  return { topics, clock, looks, ensure }
}

describe('a topic that is there', () => {
  it('is looked at again after trouble, and has as many partitions as it had until then', async () => {
    const { topics, looks, ensure } = stage([LED, LED, LED])
    await ensure()
    await ensure()
    expect(looks).toHaveLength(1)
    topics.forget('orders')
    expect(topics.partitions('orders')).toBe(3)
    expect(await topics.exist(['orders'])).toBe(true)
    expect(looks).toHaveLength(2)
  })

  it('is taken though a partition has no leader, where its broker is away, and soon looked at again', async () => {
    const { topics, clock, looks, ensure } = stage([{ leader: -1, offlineReplicas: [3] }, LED, LED])
    await ensure()
    expect([topics.partitions('orders'), topics.led('orders')]).toEqual([3, [1, 2]])
    await clock.advance(6_000)
    await ensure()
    expect(looks).toHaveLength(2)
  })

  it('is waited for where leaders are only about to be known: it is new', async () => {
    const partitions = [{ leader: -1, offlineReplicas: [] }, LED]
    const { topics, clock, ensure } = stage(partitions)
    const ready = ensure()
    await clock.advance(100)
    expect(topics.led('orders')).toEqual([])
    partitions[0] = LED
    await clock.runUntil(ready, { most: 1_000 })
    expect(topics.led('orders')).toEqual([0, 1])
  })
})

describeOwnKafka('topics that are made on three kafka brokers', () => {
  let kafka: OwnKafka
  let admin: Admin

  beforeAll(async () => {
    // what brokers do by themselves
    kafka = await ownKafka({ brokers: 3, settings: () => ({ 'min.insync.replicas': 1 }) })
    admin = new Admin({ clientId: 'test', bootstrapBrokers: [...kafka.brokers], timeout: 30_000 })
  })
  afterAll(async () => {
    await admin?.close()
    await kafka?.close()
  })

  it.each([
    { query: '?replication=3', least: '2' },
    { query: '?replication=2', least: '1' },
    { query: '', least: '1' },
  ])("with '$query' confirm nothing that fewer than $least of them have", async ({ query, least }) => {
    const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
    const world = realWorld(open, `kafka://${kafka.brokers.join(',')}${query}`, tools)
    const to = makeSubscription(world)
    const { transport } = await world.open()
    try {
      await transport!.subscribe(to)
      const names = [to.topic, ...retryTopics(to.consumerGroup), ...to.destinations.map(({ name }) => name)]
      const answers = await admin.describeConfigs({
        resources: names.map((resourceName) => ({
          resourceType: ConfigResourceTypes.TOPIC,
          resourceName,
          configurationKeys: ['min.insync.replicas'],
        })),
      })
      expect(answers.map(({ configs }) => configs[0]?.value)).toEqual(names.map(() => least))
    } finally {
      await transport!.close()
    }
  })
})
