import { Admin, murmur2 } from '@platformatic/kafka'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { whenCommitted } from '../../../test/kafka/committed.ts'
import { describeOwnKafka, type OwnKafka, ownKafka } from '../../../test/kafka/own-kafka.ts'
import { until } from '../../../test/until.ts'
import type { Delivery, Inlet, Settlement, Transport } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { realWorld } from '../../testing/trials/index.ts'
import { ackAll, idsOf, makeEvent, makeSubscription, take, takeNone } from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadClient } from './client.ts'
import { doctor, open } from './index.ts'
import { readUrl } from './settings.ts'
import { kafkaTransport } from './transport.ts'
import { openWire, type Wire } from './wire.ts'

const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
const PARTITIONS = 3
/** Of broker `at`, which is how brokers are named everywhere but in the protocol. */
const idOf = (at: number) => at + 1

describeOwnKafka('three kafka brokers of which one is sick', () => {
  let kafka: OwnKafka
  let url: string
  let transport: Transport | undefined

  beforeAll(async () => {
    kafka = await ownKafka({ brokers: 3 })
    url = `kafka://${kafka.brokers.join(',')}`
  })
  afterAll(() => kafka.close())
  afterEach(async () => {
    await transport?.close()
    transport = undefined
  })

  /** By a client that knows nothing of us. */
  const plainly = async <T>(ask: (admin: Admin) => Promise<T>, without?: number): Promise<T> => {
    const bootstrapBrokers = kafka.brokers.filter((_, at) => at !== without)
    const admin = new Admin({ clientId: 'plain', bootstrapBrokers, timeout: 30_000 })
    return ask(admin).finally(() => admin.close())
  }

  /** Partition n on these brokers, the first of which leads it. */
  const makeTopic = async (name: string, replicas: readonly (readonly number[])[], least: number) => {
    const assignments = replicas.map((ats, partition) => ({ partition, brokers: ats.map(idOf) }))
    const configs = [{ name: 'min.insync.replicas', value: String(least) }]
    await plainly((admin) => admin.createTopics({ topics: [name], assignments, configs }))
  }

  const partitionOf = ({ extensions }: Event) =>
    (murmur2(Buffer.from(String(extensions.orderkey))) & 0x7fffffff) % PARTITIONS

  /** Takes whatever comes: the first time it is put off, the second time it is done. */
  const consume = (inlet: Inlet, world: Parameters<typeof failedOnce>[0]) => {
    const done: string[] = []
    const stop = new AbortController()
    const run = async () => {
      while (!stop.signal.aborted) {
        const got = await inlet.receive(50, stop.signal)
        const retried = got.map(({ parcel }) => parcel.trail.spent > 0)
        const answers = await inlet.settle(
          got.map((delivery, i) =>
            retried[i]
              ? { do: 'ack', delivery }
              : { do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) },
          ),
        )
        answers.forEach((answer, i) => {
          if (answer === 'done' && retried[i]) done.push(got[i]!.parcel.event.id)
          // as the runtime does: it is tried again until it is done or lost
          if (answer instanceof Error) void again(got[i]!)
        })
      }
    }
    const again = async (delivery: Awaited<ReturnType<Inlet['receive']>>[number]) => {
      const retried = delivery.parcel.trail.spent > 0
      for (;;) {
        await systemClock.sleep(250)
        const [answer] = await inlet.settle([
          retried
            ? { do: 'ack', delivery }
            : { do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) },
        ])
        if (answer instanceof Error && !stop.signal.aborted) continue
        if (answer === 'done' && retried) done.push(delivery.parcel.event.id)
        return
      }
    }
    // where the test has failed the transport is closed over it
    const running = run().catch(() => {})
    return {
      done,
      stop: async () => {
        stop.abort()
        await running
      },
    }
  }

  const stage = async (replicas: readonly (readonly number[])[], least: number) => {
    const world = realWorld(open, url, tools)
    const to = makeSubscription(world)
    await makeTopic(to.topic, replicas, least)
    transport = (await open(url, tools)).transport
    const inlet = await transport.subscribe(to)
    const consumer = consume(inlet, world)
    return { to, transport, inlet, eventsFor: forPartitions(world), ...consumer }
  }

  /** Events with keys of their own, one for each of these partitions. */
  const forPartitions = (world: Parameters<typeof makeEvent>[0]) => {
    let key = 0
    return (...partitions: readonly number[]): readonly Event[] =>
      partitions.map((partition) => {
        for (;;) {
          const event = makeEvent(world, { extensions: { orderkey: `key-${key++}` } })
          if (partitionOf(event) === partition) return event
        }
      })
  }

  const handled = (done: readonly string[], events: readonly Event[]) =>
    until('all of them to be handled', () => events.every(({ id }) => done.includes(id)))

  /** Answers how long it took. */
  const timed = async (work: Promise<unknown>): Promise<number> => {
    const since = Date.now()
    await work
    return Date.now() - since
  }

  /** Publishes as an app does, until it is told that it is there. */
  const publish = async (to: Transport, topic: string, events: readonly Event[]) => {
    for (const event of events) {
      await until(`event ${event.id} to be published`, () =>
        to.publish(topic, [event]).then(
          () => true,
          () => false,
        ),
      )
    }
  }

  it('killed, with the only copy of a partition: the others go on, the doctor names it, and it goes on when it is back', async () => {
    const { to, transport, inlet, eventsFor, done, stop } = await stage([[2], [0], [1]], 1)
    const before = eventsFor(0, 1, 2)
    await publish(transport, to.topic, before)
    await handled(done, before)
    await kafka.kill(2)
    await untilUnled(to.topic, 2)
    const since = Date.now()
    const meanwhile = eventsFor(1, 2, 1, 2, 1, 2)
    await publish(transport, to.topic, meanwhile)
    await handled(done, meanwhile)
    // in one batch with others it fails alone
    const [lost, kept] = eventsFor(0, 1) as [Event, Event]
    await expect(transport.publish(to.topic, [lost, kept])).rejects.toMatchObject({ code: 'unavailable' })
    await handled(done, [kept])
    // what has no key goes where somebody takes it
    const keyless = Array.from({ length: 6 }, () => makeEvent(realWorld(open, url, tools)))
    await transport.publish(to.topic, keyless)
    await handled(done, keyless)
    expect(Date.now() - since).toBeLessThan(30_000)

    const needs = {
      subscriptions: [{ to, retries: 1, retention: 1, attempt: 1, unsettled: 1 }],
      foreign: [{ name: to.topic, keep: 1 }],
    }
    const found = await doctor.examine(url, needs, tools)
    for (const check of ['kafka-leader', 'kafka-foreign']) {
      const what = 'no broker leads partition 0'
      expect(found).toContainEqual(expect.objectContaining({ check, level: 'wrong', where: to.topic, what }))
    }
    // and all else is looked at as ever
    expect(found.filter(({ what }) => what.includes("can't be seen"))).toEqual([])
    expect(found.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['kafka-brokers', 'kafka-retention', 'kafka-clock', 'kafka-hanging']),
    )
    await expect(inlet.lag()).rejects.toMatchObject({ code: 'unavailable' })

    await kafka.start(2)
    const after = eventsFor(0, 1, 2)
    await publish(transport, to.topic, [lost, ...after])
    await handled(done, [lost, ...after])
    await stop()
    await transport.close()

    // as a plain client sees it: nothing is left that was not handled
    await plainly(async (admin) => {
      const indexes = [0, 1, 2]
      const partitions = indexes.map((partitionIndex) => ({ partitionIndex, timestamp: -1n }))
      const [ends] = await admin.listOffsets({ topics: [{ name: to.topic, partitions }] })
      const topics = [{ name: to.topic, partitionIndexes: indexes }]
      const [group] = await admin.listConsumerGroupOffsets({
        groups: [{ groupId: to.consumerGroup, topics }],
      })
      const committed = group!.topics[0]!.partitions
      for (const { partitionIndex, offset } of ends!.partitions) {
        const at = committed.find((each) => each.partitionIndex === partitionIndex)
        expect(at!.committedOffset).toBe(offset)
      }
    })
  })

  it('frozen, though it is the first of the list: the others lead on, publish, retry and consume', async () => {
    const all = [
      [0, 1, 2],
      [1, 2, 0],
      [2, 0, 1],
    ]
    const { to, transport, eventsFor, done, stop } = await stage(all, 2)
    const before = eventsFor(0, 1, 2)
    await publish(transport, to.topic, before)
    await handled(done, before)
    const membersOf = (without?: number) =>
      plainly(async (admin) => {
        const groups = await admin.describeGroups({ groups: [to.consumerGroup] })
        return [...groups.get(to.consumerGroup)!.members.keys()]
      }, without)
    const members = await membersOf()
    expect(members).toHaveLength(1)
    kafka.freeze(0)
    try {
      const meanwhile = eventsFor(0, 1, 2, 0, 1, 2)
      const took = await timed(
        Promise.all(meanwhile.map((event) => publish(transport, to.topic, [event]))).then(() =>
          handled(done, meanwhile),
        ),
      )
      expect(took).toBeLessThan(45_000)
      // from then on nobody waits for it
      const later = eventsFor(0, 1, 2)
      expect(await timed(publish(transport, to.topic, later).then(() => handled(done, later)))).toBeLessThan(
        10_000,
      )
      // its place in the consumer group was kept meanwhile
      expect(await membersOf(0)).toEqual(members)
      // and whoever begins now is not kept either
      const opened = await open(url, tools)
      const fresh = eventsFor(0, 1, 2)
      expect(await timed(publish(opened.transport, to.topic, fresh))).toBeLessThan(20_000)
      await opened.transport.close()
      await handled(done, fresh)
    } finally {
      kafka.thaw(0)
    }
    await stop()
  })

  const untilUnled = (topic: string, without: number) =>
    until('a partition to have no leader', () =>
      plainly(async (admin) => {
        const error = await admin.metadata({ topics: [topic], retries: 0 }).catch((error: Error) => error)
        return error instanceof Error
      }, without),
    )

  /** Partition 2 of its shortest retries is on broker 2 only, and nothing else is. */
  const stageRetries = async (on: (wire: Wire) => Wire = (wire) => wire) => {
    const world = realWorld(open, url, tools)
    const to = makeSubscription(world, { transactions: true })
    const elsewhere = [
      [0, 1],
      [1, 0],
      [0, 1],
    ]
    const retries = `${to.consumerGroup}.retry.1s`
    await makeTopic(to.topic, elsewhere, 1)
    await makeTopic(retries, [[0], [1], [2]], 1)
    const wire = await openWire(await loadClient(), readUrl(url), tools)
    transport = kafkaTransport(on(wire))
    const inlet = await transport.subscribe(to)
    const later = (delivery: Delivery): Settlement => ({
      do: 'later',
      delivery,
      parcel: failedOnce(world, delivery.parcel, 0),
    })
    return { world, to, retries, inlet, transport, later, eventsFor: forPartitions(world) }
  }

  it('killed, with the only copy of a partition of retries: those of its batch go on, in transactions too', async () => {
    const { world, to, retries, inlet, transport, later, eventsFor } = await stageRetries()
    await transport.publish(to.topic, eventsFor(2, 0))
    const got = await take(world, inlet, 2)
    await kafka.kill(2)
    try {
      await untilUnled(retries, 2)
      const others = got.filter(({ parcel }) => partitionOf(parcel.event) === 0)
      const answers = await until('the other one', async () => {
        const answers = await inlet.settle(got.map(later))
        return answers.includes('done') && answers
      })
      expect(answers[got.indexOf(others[0]!)]).toBe('done')
      expect(answers.find((answer) => answer !== 'done')).toMatchObject({ code: 'unavailable' })
      expect(idsOf(await take(world, inlet, 1))).toEqual(idsOf(others))
    } finally {
      await kafka.start(2)
    }
    const [held] = got.filter(({ parcel }) => partitionOf(parcel.event) === 2)
    await until('it to go too', async () => (await inlet.settle([later(held!)]))[0] === 'done')
    expect(idsOf(await take(world, inlet, 1))).toEqual(idsOf([held!]))
  })

  it('killed and back, and taken for the leader that it was: it refuses, and whoever leads by now is read', async () => {
    const world = realWorld(open, url, tools)
    const to = makeSubscription(world)
    await makeTopic(to.topic, [[0, 1, 2]], 2)
    const topicNow = async () =>
      (await plainly((admin) => admin.metadata({ topics: [to.topic] }))).topics.get(to.topic)!
    const told = async () => (await topicNow()).partitions[0]!
    const { id } = await topicNow()
    const before = await told()
    await kafka.kill(0)
    await until('another leader', async () => (await told().catch(() => before)).leader !== before.leader)
    await kafka.start(0)
    await until('all copies to be the same', async () => (await told()).isr.length === 3)
    const now = await told()
    expect(now.leader).not.toBe(before.leader)

    const epochs: number[] = []
    const client = await loadClient()
    const { createRequest } = client.fetchV13
    const noting: typeof createRequest = (...given) => {
      const source = given[6].find(({ topicId }) => topicId === id)
      if (source) epochs.push(source.partitions[0]!.currentLeaderEpoch)
      return createRequest(...given)
    }
    const fetchV13 = { ...client.fetchV13, createRequest: noting }
    const wire = await openWire({ ...client, fetchV13 } as typeof client, readUrl(url), tools)
    const misled = (): Admin => {
      const made = wire.fetcher()
      const ask = made.metadata.bind(made)
      let misleads = true
      const metadata = async (options: Parameters<typeof ask>[0]) => {
        const answer = await ask(options)
        const topic = answer.topics.get(to.topic)
        if (topic && misleads) answer.topics.set(to.topic, { ...topic, partitions: [before] })
        misleads = false
        return answer
      }
      return Object.assign(made, { metadata })
    }
    transport = kafkaTransport({ ...wire, fetcher: misled })
    const inlet = await transport.subscribe(to)
    for (let n = 0; n < 3; n++) {
      await transport.publish(to.topic, [makeEvent(world)])
      await ackAll(inlet, await take(world, inlet, 1))
    }
    expect(epochs[0]).toBe(before.leaderEpoch)
    expect(epochs.at(-1)).toBe(now.leaderEpoch)
  })

  it('killed when the end of a transaction was told, before its mark was there: it is not done until then', async () => {
    let killed: Promise<void> | undefined
    const { world, to, retries, inlet, transport, later, eventsFor } = await stageRetries((wire) =>
      whenCommitted(wire, () => {
        killed ??= kafka.kill(2)
      }),
    )
    await transport.publish(to.topic, eventsFor(2))
    const got = await take(world, inlet, 1)
    let back = false
    const settled = inlet.settle(got.map(later)).then((answers) => ({ answers, back }))
    await until('the end to be told', () => killed !== undefined)
    await killed
    await untilUnled(retries, 2)
    // brokers know of it by now, and have passed over the mark
    await world.wait(3_000)
    back = true
    await kafka.start(2)
    expect(await settled).toEqual({ answers: ['done'], back: true })
    const copies = await take(world, inlet, 1)
    expect(idsOf(copies)).toEqual(idsOf(got))
    await ackAll(inlet, copies)
    await takeNone(world, inlet)
  })
})
