import { Consumer, FetchIsolationLevels, MessagesStreamModes } from '@platformatic/kafka'
import { expect, it } from 'vitest'
import { hastyClock, kafkaBench } from '../../../test/kafka/bench.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { until } from '../../../test/until.ts'
import {
  ackAll,
  idsOf,
  makeEvents,
  makeSubscription,
  settleAll,
  sorted,
  take,
  takeNone,
} from '../../testing/trials/kit.ts'
import { burial, failedOnce } from '../../testing/trials/samples.ts'
import type { Producer } from './client.ts'
import { CODE, errorOf } from './errors.ts'
import type { Wire } from './wire.ts'

describeWith('kafka', 'transactions on kafka', (brokers) => {
  const { world, openSeen, committed, admin, facts } = kafkaBench(brokers, '?session=6000&heartbeat=300')
  const subscription = () => makeSubscription(world, { transactions: true })

  /** What is there for whoever reads only what was committed, by another client. */
  const idsIn = async (topic: string, count: number): Promise<readonly string[]> => {
    const consumer = new Consumer({
      clientId: 'test',
      groupId: world.name('reader'),
      bootstrapBrokers: [brokers],
    })
    const stream = await consumer.consume({
      topics: [topic],
      mode: MessagesStreamModes.EARLIEST,
      isolationLevel: FetchIsolationLevels.READ_COMMITTED,
      autocommit: false,
      maxWaitTime: 100,
    })
    const ids: string[] = []
    const over = setTimeout(() => void stream.close(), 1_500)
    for await (const { headers } of stream) {
      ids.push(
        String(
          headers.get(Buffer.from('ce_id')) ?? [...headers].find(([name]) => `${name}` === 'ce_id')?.[1],
        ),
      )
      if (ids.length > count) break
    }
    clearTimeout(over)
    await consumer.close(true)
    return ids
  }
  /** How many offsets of a topic lie past what the group has committed. */
  const lagBehind = async (group: string, topic: string): Promise<number> => {
    const partitions = [0, 1, 2].map((partitionIndex) => ({ partitionIndex, timestamp: -1n }))
    const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions }] })
    const ends = found!.partitions.reduce((sum, { offset }) => sum + Number(offset), 0)
    return ends - (await committed(group, topic)).reduce((sum, { offset }) => sum + Math.max(0, offset), 0)
  }
  /**
   * Its next commit of a transaction is answered by an error, though it arrives or not; or not before all is closed; or it
   * waits for a word from the test.
   */
  const tamper = (wire: Wire, how: 'arrives' | 'gets lost' | 'hangs' | 'waits') => {
    const { transactor } = wire
    let tampered = false
    const asked = Promise.withResolvers<void>()
    const word = Promise.withResolvers<void>()
    Object.assign(wire, {
      transactor: (id: string): Producer => {
        const producer = transactor(id)
        const closed = Promise.withResolvers<void>()
        const close = producer.close.bind(producer)
        producer.close = (() => {
          closed.resolve()
          return close()
        }) as never
        const begin = producer.beginTransaction.bind(producer)
        producer.beginTransaction = (async (options: never) => {
          const transaction = await begin(options)
          const commit = transaction.commit.bind(transaction)
          transaction.commit = (async () => {
            if (tampered) return commit()
            tampered = true
            asked.resolve()
            if (how === 'waits') return word.promise.then(() => commit())
            if (how === 'arrives') await commit()
            if (how === 'hangs') await closed.promise
            throw new Error('the answer is lost')
          }) as never
          return transaction
        }) as never
        return producer
      },
    })
    return { asked: asked.promise, goOn: word.resolve }
  }

  it('a retry or a burial and its commit are there together, and readers of others see each once', async () => {
    const { transport } = await openSeen()
    const to = subscription()
    const inlet = await transport.subscribe(to)
    const events = makeEvents(world, 30)
    await transport.publish(to.topic, events)
    const got = await take(world, inlet, 30)
    await settleAll(
      inlet,
      got.map((delivery, n) => {
        if (n % 3 === 0) return { do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }
        return n % 3 === 1 ? burial(world, to, delivery) : { do: 'ack', delivery }
      }),
    )
    const offsets = await committed(to.consumerGroup, to.topic)
    expect(offsets.reduce((sum, { offset }) => sum + offset, 0)).toBe(30)
    const again = await take(world, inlet, 10)
    expect(sorted(idsOf(again))).toEqual(sorted(idsOf(got.filter((_, n) => n % 3 === 0))))
    await ackAll(inlet, again)
    await takeNone(world, inlet)
    expect((await idsIn(to.destinations[0]!.name, 10)).length).toBe(10)
  })

  it('what a transaction has committed is not taken back by the commits that waited for it', async () => {
    const { transport, wire } = await openSeen()
    const to = subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 3, { extensions: { orderkey: 'k' } }))
    const got = await take(world, inlet, 3)
    const before = wire.counts.produces
    const retry = settleAll(inlet, [
      { do: 'later', delivery: got[0]!, parcel: failedOnce(world, got[0]!.parcel, 60_000) },
    ])
    while (wire.counts.produces === before) await world.wait(1)
    await Promise.all([retry, ackAll(inlet, [got[1]!]), settleAll(inlet, [burial(world, to, got[2]!)])])
    const offsets = await committed(to.consumerGroup, to.topic)
    expect(offsets.map(({ offset }) => offset).sort()).toEqual([0, 0, 3])
  })

  it('whoever has lost the partition writes nothing, neither copy nor commit', async () => {
    const { transport } = await openSeen()
    const to = subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 3, { extensions: { orderkey: 'k' } }))
    const got = await take(world, inlet, 3)
    const [described] = [...(await admin.describeGroups({ groups: [to.consumerGroup] })).values()]
    const members = [...described!.members.values()].map(({ id }) => ({ memberId: id }))
    await admin.removeMembersFromConsumerGroup({ groupId: to.consumerGroup, members })
    const answers = await inlet.settle(
      got.map((delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) })),
    )
    expect(answers).toEqual(['lost', 'lost', 'lost'])
    expect(await idsIn(`${to.consumerGroup}.retry.1s`, 3)).toEqual([])
    const again = await take(world, inlet, 3)
    expect(idsOf(again)).toEqual(idsOf(got))
    expect(again.every(({ redelivered }) => redelivered)).toBe(true)
    await ackAll(inlet, again)
    // what the aborted transaction wrote is nobody's to settle, and nobody lags behind it
    const behind = () => lagBehind(to.consumerGroup, `${to.consumerGroup}.retry.1s`)
    await expect.poll(behind, { interval: 500 }).toBe(0)
  })

  it('whoever takes over a partition waits for the transaction of the last owner, and runs nothing twice', async () => {
    const { transport, wire } = await openSeen()
    const { asked, goOn } = tamper(wire, 'waits')
    const to = subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 1))
    const [first] = await take(world, inlet, 1)
    const settled = inlet.settle([
      { do: 'later', delivery: first!, parcel: failedOnce(world, first!.parcel, 0) },
    ])
    await asked
    const [described] = [...(await admin.describeGroups({ groups: [to.consumerGroup] })).values()]
    const members = [...described!.members.values()].map(({ id }) => ({ memberId: id }))
    await admin.removeMembersFromConsumerGroup({ groupId: to.consumerGroup, members })
    const waits = () => facts.some((fact) => fact.is === 'trouble' && /unstable/.test(fact.error.message))
    const coming = take(world, inlet, 1)
    // it waits, or has begun too soon
    await Promise.race([coming, until('it waits', waits)])
    goOn()
    expect(await settled).toEqual(['done'])
    const [copy] = await coming
    expect(copy!.parcel.trail.spent).toBe(1)
    await ackAll(inlet, [copy!])
    await takeNone(world, inlet)
  })

  it('a commit that arrived though its answer did not is done, and copied once', async () => {
    const { transport, wire } = await openSeen()
    tamper(wire, 'arrives')
    const to = subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 2))
    const got = await take(world, inlet, 2)
    await settleAll(
      inlet,
      got.map((delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) })),
    )
    await ackAll(inlet, await take(world, inlet, 2))
    await takeNone(world, inlet)
  })

  it('one that the broker refuses leaves the others, and all that follow, to be written', async () => {
    const { transport } = await openSeen()
    const to = subscription()
    await admin.createTopics({
      topics: [`${to.consumerGroup}.retry.1s`],
      partitions: 3,
      replicas: 1,
      configs: [{ name: 'max.message.bytes', value: '20000' }],
    })
    const inlet = await transport.subscribe(to)
    const ordered = { extensions: { orderkey: 'k' } }
    const events = [
      ...makeEvents(world, 1, ordered),
      ...makeEvents(world, 1, { ...ordered, data: Buffer.alloc(30_000, 'x') }),
      ...makeEvents(world, 2, ordered),
    ]
    await transport.publish(to.topic, events)
    const got = await take(world, inlet, 4)
    const retries = got.map(
      (delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }) as const,
    )
    const answers = await inlet.settle(retries.slice(0, 3))
    expect(answers[1]).toMatchObject({ code: 'bad_event' })
    expect([answers[0], answers[2]]).toEqual(['done', 'done'])
    await settleAll(inlet, [retries[3]!, { do: 'ack', delivery: got[1]! }])
    const again = await take(world, inlet, 3)
    expect(sorted(idsOf(again))).toEqual(sorted(idsOf(got.filter((_, n) => n !== 1))))
    await ackAll(inlet, again)
  })

  it('one that runs out of time leaves the next one alone, and can be settled again', async () => {
    const { transport, wire } = await openSeen('', hastyClock)
    tamper(wire, 'hangs')
    const to = subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 2))
    const got = await take(world, inlet, 2)
    const [first, second] = got.map((delivery) => [burial(world, to, delivery)])
    const answers = Promise.all([inlet.settle(first!), inlet.settle(second!)])
    expect(await answers).toEqual([[expect.objectContaining({ code: 'unavailable' })], ['done']])
    expect(await inlet.settle(first!)).toEqual(['done'])
    expect((await idsIn(to.destinations[0]!.name, 2)).length).toBe(2)
  })

  it('a broker that is not ready for transactions yet is waited for', async () => {
    const { transport, wire } = await openSeen()
    const { transactor } = wire
    let refusals = 0
    Object.assign(wire, {
      transactor: (id: string): Producer => {
        const producer = transactor(id)
        const begin = producer.beginTransaction.bind(producer)
        producer.beginTransaction = ((options: never) => {
          if (refusals === 3) return begin(options)
          refusals++
          throw errorOf(wire.client, CODE.coordinatorLoading)
        }) as never
        return producer
      },
    })
    const to = subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 1))
    const [delivery] = await take(world, inlet, 1)
    expect(await inlet.settle([burial(world, to, delivery!)])).toEqual(['done'])
    expect(refusals).toBe(3)
    expect((await idsIn(to.destinations[0]!.name, 1)).length).toBe(1)
  })

  it('one that did not arrive is an error, leaves nothing, and can be settled again', async () => {
    const { transport, wire } = await openSeen()
    tamper(wire, 'gets lost')
    const to = subscription()
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 2))
    const got = await take(world, inlet, 2)
    const batch = got.map((delivery) => burial(world, to, delivery))
    for (const answer of await inlet.settle(batch)) expect(answer).toMatchObject({ code: 'unavailable' })
    expect(await idsIn(to.destinations[0]!.name, 2)).toEqual([])
    expect(await inlet.settle(batch)).toEqual(['done', 'done'])
    expect((await idsIn(to.destinations[0]!.name, 2)).length).toBe(2)
    await takeNone(world, inlet)
  })
})
