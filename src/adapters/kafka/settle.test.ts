import { Admin } from '@platformatic/kafka'
import { afterAll, expect, it } from 'vitest'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Transport } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import {
  ackAll,
  idsOf,
  makeEvents,
  makeSubscription,
  settleAll,
  take,
  takeNone,
  takeOne,
} from '../../testing/trials/kit.ts'
import { burial, failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadClient } from './client.ts'
import { open } from './index.ts'
import { decodeMark } from './marks.ts'
import { readUrl } from './settings.ts'
import { kafkaTransport } from './transport.ts'
import { openWire, type Wire } from './wire.ts'

describeWith('kafka', 'settling on kafka', (brokers) => {
  const url = `kafka://${brokers}`
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  const world = realWorld(open, url, tools)
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
  const run = world.name('x').split('-').at(-2)!
  const opened: Transport[] = []

  /** With a look at what goes over the wire. */
  const openSeen = async (): Promise<{ transport: Transport; wire: Wire }> => {
    const wire = await openWire(await loadClient(), readUrl(url), tools)
    const transport = kafkaTransport(wire)
    opened.push(transport)
    return { transport, wire }
  }
  const committed = async (group: string, topic: string) => {
    const [answer] = await admin.listConsumerGroupOffsets({ groups: [group] })
    const partitions = answer?.topics.find(({ name }) => name === topic)?.partitions ?? []
    return partitions.map(({ partitionIndex, committedOffset, metadata }) => {
      const offset = Number(committedOffset)
      return { partition: partitionIndex, offset, mark: decodeMark(metadata ?? '', offset) }
    })
  }
  /** Events of one order key lie in one partition. */
  const inOnePartition = (count: number) => makeEvents(world, count, { extensions: { orderkey: 'k' } })

  afterAll(async () => {
    await Promise.all(opened.map((transport) => transport.close()))
    const ours = (await admin.listTopics()).filter((name) => name.includes(run))
    if (ours.length > 0) await admin.deleteTopics({ topics: ours })
    await admin.close()
  })

  it('settles a mixed batch with one load of records and one commit', async () => {
    const { transport, wire } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 50))
    const got = await take(world, inlet, 50)
    const before = { ...wire.counts }
    await settleAll(
      inlet,
      got.map((delivery, n) => {
        if (n % 3 === 0) return { do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, n * 100) }
        return n % 3 === 1 ? burial(world, to, delivery) : { do: 'ack', delivery }
      }),
    )
    expect(wire.counts.produces - before.produces).toBe(1)
    expect(wire.counts.commits - before.commits).toBe(1)
  })

  it('commits up to a stuck record; after a restart only that one comes again', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, inOnePartition(10))
    const [stuck, ...others] = await take(world, inlet, 10)
    await ackAll(inlet, others)
    const used = (await committed(to.consumerGroup, to.topic)).find(({ mark }) => mark?.done.length)!
    expect(used).toMatchObject({ offset: 0, mark: { done: [[1, 9]] } })
    await transport.close()
    const { transport: next } = await openSeen()
    const again = await next.subscribe(to)
    const [back] = await take(world, again, 1)
    expect(back!.parcel.event.id).toBe(stuck!.parcel.event.id)
    expect(back!.redelivered).toBe(true)
    await ackAll(again, [back!])
    await takeNone(world, again)
    const end = (await committed(to.consumerGroup, to.topic)).find(
      ({ partition }) => partition === used.partition,
    )
    expect(end).toMatchObject({ offset: 10, mark: { done: [] } })
  })

  it('a clean end leaves nothing suspected, an open one as much as the window', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world, { window: 7 })
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 9))
    await ackAll(inlet, await take(world, inlet, 3))
    for (const { mark } of await committed(to.consumerGroup, to.topic)) expect(mark?.out).toBe(7)
    await transport.close()
    for (const { mark } of await committed(to.consumerGroup, to.topic)) expect(mark?.out).toBe(0)
    const rest = await take(world, await (await openSeen()).transport.subscribe(to), 6)
    expect(rest.every(({ redelivered }) => !redelivered)).toBe(true)
  })

  it('an offset that someone else committed rules nothing out', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world, { window: 2 })
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, inOnePartition(5))
    const partitions = [0, 1, 2].map((partition) => ({ partition, offset: 0n }))
    await admin.alterConsumerGroupOffsets({
      groupId: to.consumerGroup,
      topics: [{ name: to.topic, partitionOffsets: partitions }],
    })
    const flags: boolean[] = []
    for (let n = 0; n < 5; n++) {
      const delivery = await takeOne(world, inlet)
      flags.push(delivery.redelivered)
      await ackAll(inlet, [delivery])
    }
    expect(flags).toEqual([true, true, false, false, false])
  })

  it('an entry that is too large fails by itself, and can be settled otherwise', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, inOnePartition(3))
    const [large, small, acked] = await take(world, inlet, 3)
    const data = Buffer.alloc(17 * 1024 * 1024)
    const parcel = { ...large!.parcel, event: { ...large!.parcel.event, data } }
    const answers = await inlet.settle([
      { do: 'later', delivery: large!, parcel },
      { do: 'later', delivery: small!, parcel: failedOnce(world, small!.parcel, 0) },
      { do: 'ack', delivery: acked! },
    ])
    expect(answers[0]).toMatchObject({
      code: 'bad_event',
      message: expect.stringMatching(/larger than the topic .*\.retry\./),
    })
    expect(answers.slice(1)).toEqual(['done', 'done'])
    expect(await inlet.settle([burial(world, to, large!)])).toEqual(['done'])
    expect(idsOf([await takeOne(world, inlet)])).toEqual(idsOf([small!]))
  })

  it('a settlement whose commit got no answer can be settled again, and copies nothing twice', async () => {
    const { transport, wire } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 2))
    const [one, two] = await take(world, inlet, 2)
    const batch = [
      { do: 'ack', delivery: one! },
      { do: 'later', delivery: two!, parcel: failedOnce(world, two!.parcel, 0) },
    ] as const
    const { get } = wire.clerk.connections
    const nobody = (_broker: unknown, callback?: (error: Error) => void) =>
      callback ? callback(new Error('nobody there')) : Promise.reject(new Error('nobody there'))
    wire.clerk.connections.get = nobody as typeof get
    const answers = await inlet.settle(batch)
    expect(answers.map((answer) => (answer as Error).message)).toEqual([
      expect.stringMatching(/committing: nobody there/),
      expect.stringMatching(/committing: nobody there/),
    ])
    wire.clerk.connections.get = get
    expect(await inlet.settle(batch)).toEqual(['done', 'done'])
    expect(await inlet.settle(batch)).toEqual(['lost', 'lost'])
    expect(idsOf([await takeOne(world, inlet)])).toEqual(idsOf([two!]))
    await takeNone(world, inlet)
  })

  it("puts nothing of ours off into someone else's topic, and it can be settled otherwise", async () => {
    const { transport } = await openSeen()
    const name = world.name('theirs')
    await makeTopic(admin, name)
    const inlet = await transport.collect({ name, foreign: true })
    await transport.publish(name, makeEvents(world, 1))
    const delivery = await takeOne(world, inlet)
    const parcel = failedOnce(world, delivery.parcel, 0)
    expect(await inlet.settle([{ do: 'later', delivery, parcel }])).toMatchObject([{ code: 'bad_rules' }])
    await settleAll(inlet, [{ do: 'give back', delivery }])
    await ackAll(inlet, [await takeOne(world, inlet)])
    const [ends] = await admin.listOffsets({
      topics: [{ name, partitions: [{ partitionIndex: 0, timestamp: -1n }] }],
    })
    expect(ends!.partitions[0]!.offset).toBe(1n)
  })

  it('what was being settled when its inlet closed, and would not go, comes to the next one', async () => {
    const { transport, wire } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    // with its retry topics the group goes on for another topic
    const beside = await transport.subscribe({ ...to, topic: world.name('beside') })
    const waiting = new AbortController()
    const idle = beside.receive(1, waiting.signal)
    await transport.publish(to.topic, makeEvents(world, 1))
    const first = await takeOne(world, inlet)
    await settleAll(inlet, [{ do: 'later', delivery: first, parcel: failedOnce(world, first.parcel, 0) }])
    const retry = await takeOne(world, inlet)
    const { get } = wire.producer.connections
    let refuse = () => {}
    const refused = new Promise<void>((resolve) => {
      refuse = resolve
    })
    const nobody = (_broker: unknown, callback?: (error: Error) => void) => {
      const error = new Error('nobody there')
      return refused.then(() => (callback ? callback(error) : Promise.reject(error)))
    }
    wire.producer.connections.get = nobody as never
    const settled = inlet.settle([
      { do: 'later', delivery: retry, parcel: failedOnce(world, retry.parcel, 0) },
    ])
    await inlet.close()
    refuse()
    expect(await settled).toMatchObject([{ code: 'unavailable' }])
    wire.producer.connections.get = get
    const again = await takeOne(world, await transport.subscribe(to))
    expect(again.parcel.trail.spent).toBe(1)
    expect(idsOf([again])).toEqual(idsOf([first]))
    waiting.abort()
    await idle
  })
})
