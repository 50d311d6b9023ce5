import { expect, it } from 'vitest'
import { kafkaBench, soonClock } from '../../../test/kafka/bench.ts'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Inlet, Settlement, Subscription } from '../../contracts/transport.ts'
import { ackAll, idsOf, makeEvents, makeSubscription, take, takeOne } from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { offsetsOf } from './offsets.ts'
import { retryTopics } from './tiers.ts'

describeWith('kafka', 'a kafka topic that is deleted in mid-run', (brokers) => {
  const { world, openSeen, admin } = kafkaBench(brokers)

  const start = async (partitions: number) => {
    const { transport } = await openSeen('', soonClock)
    const to = makeSubscription(world)
    await makeTopic(admin, to.topic, { partitions })
    return { transport, to, inlet: await transport.subscribe(to) }
  }
  const inOnePartition = (count: number) => makeEvents(world, count, { extensions: { orderkey: 'k' } })
  const shapeOf = async (name: string) => {
    const { topics } = await admin.metadata({ topics: [name], forceUpdate: true })
    const { ConfigResourceTypes } = await import('@platformatic/kafka')
    const [configs] = await admin.describeConfigs({
      resources: [
        { resourceType: ConfigResourceTypes.TOPIC, resourceName: name, configurationKeys: ['retention.ms'] },
      ],
    })
    return { partitions: topics.get(name)?.partitionsCount, keep: configs?.configs[0]?.value }
  }
  const remove = async (names: readonly string[]) => {
    await admin.deleteTopics({ topics: [...names] })
    while ((await admin.listTopics()).some((name) => names.includes(name))) await world.wait(20)
  }
  /** As the runtime does: while the broker has trouble, it is tried again. */
  const untilDone = async (inlet: Inlet, settlement: Settlement) => {
    for (let tries = 0; tries < 40; tries++) {
      const [answer] = await inlet.settle([settlement])
      if (answer === 'done') return
      expect(answer).toMatchObject({ code: 'unavailable' })
      await world.wait(100)
    }
    throw new Error('never settled')
  }
  const untilPublished = async (publish: () => Promise<void>) => {
    for (let tries = 0; ; tries++) {
      try {
        return await publish()
      } catch (error) {
        expect(error).toMatchObject({ code: 'unavailable' })
        if (tries > 40) throw error
        await world.wait(100)
      }
    }
  }

  it.each([
    { how: 'plainly', transactions: false },
    { how: 'in transactions', transactions: true },
  ])(
    'of retries comes back as wide as its source and kept as long as retries are, and they arrive, $how',
    async ({ transactions }) => {
      const { transport, to } = await start(4)
      const inlet = await transport.subscribe({ ...to, transactions })
      await transport.publish(to.topic, inOnePartition(2))
      const [first, second] = await take(world, inlet, 2)
      const later = (delivery: typeof first) =>
        ({ do: 'later', delivery: delivery!, parcel: failedOnce(world, delivery!.parcel, 0) }) as const
      await untilDone(inlet, later(first))
      await ackAll(inlet, [await takeOne(world, inlet)])
      await remove(retryTopics(to.consumerGroup))
      await untilDone(inlet, later(second))
      expect(await shapeOf(`${to.consumerGroup}.retry.1s`)).toEqual({
        partitions: 4,
        keep: String(30 * 24 * 60 * 60_000),
      })
      const again = await takeOne(world, inlet)
      expect(idsOf([again])).toEqual(idsOf([second!]))
      expect(again.parcel.trail.spent).toBe(1)
      await ackAll(inlet, [again])
    },
  )

  it('of events comes back, and all that is published from then on arrives', async () => {
    const { transport, to, inlet } = await start(3)
    await transport.publish(to.topic, inOnePartition(10))
    await ackAll(inlet, await take(world, inlet, 10))
    await remove([to.topic])
    const events = inOnePartition(30)
    await untilPublished(() => transport.publish(to.topic, events))
    const seen = new Set<string>()
    while (seen.size < events.length) {
      const got = await take(world, inlet, 1)
      for (const id of idsOf(got)) seen.add(id)
      await inlet.settle(got.map((delivery) => ({ do: 'ack', delivery })))
    }
    expect([...seen].sort()).toEqual(events.map(({ id }) => id).sort())
  })

  it('skips nothing of the new one, though an offset of the old one was committed when that was there', async () => {
    const { transport, to, inlet } = await start(1)
    await transport.publish(to.topic, inOnePartition(5))
    await ackAll(inlet, await take(world, inlet, 5))
    await inlet.close()
    const [answer] = await admin.listConsumerGroupOffsets({ groups: [to.consumerGroup] })
    const { committedOffset, metadata } = answer!.topics.find(({ name }) => name === to.topic)!.partitions[0]!
    expect(committedOffset).toBe(5n)
    await remove([to.topic])
    await makeTopic(admin, to.topic, { partitions: 1 })
    const events = inOnePartition(8)
    await untilPublished(() => transport.publish(to.topic, events))
    const { transport: another, wire } = await openSeen()
    const late = { topic: to.topic, partition: 0, offset: 5, text: metadata ?? '' }
    const nobody = { member: '', generation: -1 }
    expect(await offsetsOf(wire, to.consumerGroup).commit([late], nobody)).toEqual(['done'])
    const again = await another.subscribe(to)
    const got = await take(world, again, 8)
    expect(idsOf(got)).toEqual(events.map(({ id }) => id))
    await ackAll(again, got)
  })

  it.each([
    { what: 'of retries', of: (to: Subscription) => `${to.consumerGroup}.retry.1h` },
    { what: 'of events, which has fewer partitions then', of: (to: Subscription) => to.topic },
  ])('while its partitions are taken over stops nobody: $what', async ({ of }) => {
    const { transport, wire } = await openSeen('', soonClock)
    const to = makeSubscription(world)
    const beside = { ...to, topic: world.name('beside') }
    await makeTopic(admin, to.topic, { partitions: 5 })
    await transport.subscribe(to)
    const inlet = await transport.subscribe(beside)
    const { clerk } = wire
    const metadata = clerk.metadata.bind(clerk)
    let times = 0
    // the first thing that is asked for partitions which are dealt
    Object.assign(clerk, {
      metadata: async (asked: Parameters<typeof metadata>[0]) => {
        if (times++ === 0) await remove([of(to)])
        return metadata(asked)
      },
    })
    const [event] = makeEvents(world, 1)
    await transport.publish(beside.topic, [event!])
    const found = await takeOne(world, inlet)
    expect(found.parcel.event.id).toBe(event!.id)
    await ackAll(inlet, [found])
  })

  it('and made anew by others, of which nobody tells where it begins, stops nobody', async () => {
    const { transport, wire } = await openSeen('', soonClock)
    const to = makeSubscription(world)
    const beside = { ...to, topic: world.name('beside') }
    await makeTopic(admin, to.topic, { partitions: 1 })
    const inlet = await transport.subscribe(to)
    const besides = await transport.subscribe(beside)
    const passes = async (topic: string, from: Inlet) => {
      const [event] = inOnePartition(1)
      await untilPublished(() => transport.publish(topic, [event!]))
      const found = await takeOne(world, from)
      expect(found.parcel.event.id).toBe(event!.id)
      await ackAll(from, [found])
    }
    await passes(to.topic, inlet)
    await passes(beside.topic, besides)
    const { clerk } = wire
    const listOffsets = clerk.listOffsets.bind(clerk)
    let asked = 0
    let away = true
    // as where its leader is away
    Object.assign(clerk, {
      listOffsets: async (of: Parameters<typeof listOffsets>[0]) => {
        if (!away || !of.topics.some(({ name }) => name === to.topic)) return listOffsets(of)
        asked++
        throw new Error('no answer')
      },
    })
    await remove([to.topic])
    await makeTopic(admin, to.topic, { partitions: 1 })
    while (asked < 2) await world.wait(20)
    await passes(beside.topic, besides)
    away = false
    await passes(to.topic, inlet)
  })
})
