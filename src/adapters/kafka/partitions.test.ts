import { expect, it } from 'vitest'
import { hastyClock, kafkaBench } from '../../../test/kafka/bench.ts'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { until } from '../../../test/until.ts'
import { ackAll, makeSubscription, settleAll, take, takeOne } from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { retryTopics } from './tiers.ts'

describeWith('kafka', 'partitions on kafka', (brokers) => {
  const { world, openOne, openSeen, admin, raw } = kafkaBench(brokers)

  const counts = async (names: readonly string[]) => {
    const { topics } = await admin.metadata({ topics: [...names], forceUpdate: true })
    return names.map((name) => topics.get(name)?.partitionsCount)
  }
  const put = (topic: string, partition: number, key: string) =>
    raw.send({ messages: [{ topic, partition, key: Buffer.from(key), value: Buffer.from('1') }], acks: -1 })

  it('retry topics have as many as the source, and a key keeps its own, whoever dealt it out', async () => {
    const to = makeSubscription(world)
    await makeTopic(admin, to.topic, { partitions: 5 })
    const inlet = await (await openOne()).subscribe(to)
    expect(await counts(retryTopics(to.consumerGroup))).toEqual([5, 5, 5, 5, 5, 5])
    for (const partition of [4, 1]) {
      await put(to.topic, partition, 'one and the same')
      const delivery = await takeOne(world, inlet)
      await settleAll(inlet, [{ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }])
      await ackAll(inlet, [await takeOne(world, inlet)])
    }
    const partitions = Array.from({ length: 5 }, (_, partitionIndex) => ({ partitionIndex, timestamp: -1n }))
    const [ends] = await admin.listOffsets({
      topics: [{ name: `${to.consumerGroup}.retry.1s`, partitions }],
    })
    const used = ends!.partitions.filter(({ offset }) => offset > 0n).map((each) => each.partitionIndex)
    expect(used.sort()).toEqual([1, 4])
  })

  it('a source that is wider than the retry topics widens them', async () => {
    const to = makeSubscription(world)
    const transport = await openOne()
    await (await transport.subscribe(to)).close()
    const wide = { ...to, topic: world.name('wide') }
    await makeTopic(admin, wide.topic, { partitions: 7 })
    await transport.subscribe(wide)
    expect(await counts(retryTopics(to.consumerGroup))).toEqual([7, 7, 7, 7, 7, 7])
  })

  it('what nobody has taken is counted in records and by its age, whoever should', async () => {
    const to = makeSubscription(world)
    const transport = await openOne()
    const inlet = await transport.subscribe(to)
    const before = Date.now()
    for (const partition of [0, 2, 2]) await put(to.topic, partition, 'a')
    const lag = await inlet.lag()
    expect(lag.waiting).toBe(3)
    expect(lag.oldest).toBeGreaterThanOrEqual(before - 1)
    expect(lag.oldest).toBeLessThanOrEqual(Date.now())
    await ackAll(inlet, await take(world, inlet, 3))
    expect(await inlet.lag()).toEqual({ waiting: 0 })
  })

  it('the oldest of them is found in whichever partition it lies, large ones too', async () => {
    const to = makeSubscription(world)
    await makeTopic(admin, to.topic, { partitions: 4 })
    const inlet = await (await openOne()).subscribe(to)
    const now = Date.now()
    const ages = [1_000, 20_000, 300_000, 4_000]
    for (const [partition, age] of ages.entries()) {
      const message = {
        topic: to.topic,
        partition,
        timestamp: BigInt(now - age),
        value: Buffer.alloc(40_000, 'x'),
      }
      await raw.send({ messages: [message], acks: -1 })
    }
    expect(await inlet.lag()).toEqual({ waiting: 4, oldest: now - 300_000 })
  })

  it('of records without a time nobody says how old they are, and none is younger than now', async () => {
    const to = makeSubscription(world)
    await makeTopic(admin, to.topic)
    const { transport } = await openSeen()
    const inlet = await transport.subscribe(to)
    const write = (timestamp: number) =>
      raw.send({
        messages: [{ topic: to.topic, timestamp: BigInt(timestamp), value: Buffer.from('1') }],
        acks: -1,
      })
    const before = Date.now()
    await write(-1)
    expect(await inlet.lag()).toEqual({ waiting: 1 })
    await write(before + 1_800_000)
    const lag = await inlet.lag()
    expect(lag.waiting).toBe(2)
    expect(lag.oldest).toBeGreaterThanOrEqual(before)
    expect(lag.oldest).toBeLessThanOrEqual(Date.now())
    const got = await take(world, inlet, 2)
    for (const { parcel } of got) {
      expect(parcel.due).toBeGreaterThanOrEqual(before)
      expect(parcel.due).toBeLessThanOrEqual(Date.now())
    }
    await ackAll(inlet, got)
  })

  it('those that a topic is given later find a reader, and its retry topics have as many', async () => {
    const to = makeSubscription(world)
    const { transport } = await openSeen('', hastyClock)
    const inlet = await transport.subscribe(to)
    await put(to.topic, 0, 'a')
    await ackAll(inlet, [await takeOne(world, inlet)])
    await admin.createPartitions({ topics: [{ name: to.topic, count: 6 }] })
    while ((await counts([to.topic]))[0] !== 6) await world.wait(20)
    raw.clearMetadata()
    await put(to.topic, 5, 'b')
    const found = await takeOne(world, inlet)
    expect(found.parcel.event.id).toBe(`kafka:${to.topic}/5/0`)
    expect(await counts(retryTopics(to.consumerGroup))).toEqual([6, 6, 6, 6, 6, 6])
    await ackAll(inlet, [found])
  })

  it('find one though the member that deals them out has none of their topic', async () => {
    const names = [world.name('a'), world.name('b')]
    for (const name of names) await makeTopic(admin, name)
    // with it the retry topics are wide enough, and nothing of them changes
    const wide = world.name('wide')
    await makeTopic(admin, wide, { partitions: 3 })
    const to = makeSubscription(world)
    /** What each member of the group gets, by its topics, as soon as it comes. */
    const joinIn = async (got: string[]) => {
      const { transport } = await openSeen('', hastyClock)
      for (const topic of [...names, wide]) {
        const inlet = await transport.subscribe({ ...to, topic })
        void (async () => {
          for (;;) {
            const deliveries = await inlet.receive(10, new AbortController().signal)
            got.push(...deliveries.map(({ parcel }) => parcel.event.id))
            await ackAll(inlet, deliveries)
          }
        })().catch(() => {})
      }
      await until('the first of them to have joined', async () => {
        const found = (await admin.describeGroups({ groups: [to.consumerGroup] })).get(to.consumerGroup)
        return found?.state === 'Stable' && found.members.size > 0
      })
    }
    const first: string[] = []
    const second: string[] = []
    await joinIn(first)
    await joinIn(second)
    let n = 0
    const has = (ids: readonly string[], topic: string) => ids.some((id) => id.startsWith(`kafka:${topic}/`))
    // each has one of the two; the first to come is the one that deals
    while (!names.some((name) => has(second, name))) {
      for (const name of names) await put(name, 0, `${n++}`)
      await world.wait(100)
    }
    const wider = names.find((name) => has(second, name))!
    await admin.createPartitions({ topics: [{ name: wider, count: 3 }] })
    while ((await counts([wider]))[0] !== 3) await world.wait(20)
    raw.clearMetadata()
    await put(wider, 2, 'b')
    await expect.poll(() => [...first, ...second], { timeout: 20_000 }).toContain(`kafka:${wider}/2/0`)
  })
})
