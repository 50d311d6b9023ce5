import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../testing/clock.ts'
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
