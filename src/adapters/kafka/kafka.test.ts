import { Admin, ConfigResourceTypes } from '@platformatic/kafka'
import { afterAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Delivery, Inlet, Transport } from '../../contracts/transport.ts'
import { freshParcel } from '../../core/parcel.ts'
import { realWorld } from '../../testing/trials/index.ts'
import {
  ackAll,
  idsOf,
  makeEvent,
  makeEvents,
  makeSubscription,
  settleAll,
  sorted,
  take,
  takeNone,
  takeOne,
  takeSome,
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

interface Connected {
  readonly connections: Iterable<[string, { isConnected(): boolean; socket: { destroy(): void } }]>
}

describeWith('kafka', 'the kafka transport', (brokers) => {
  const url = `kafka://${brokers}`
  const facts: Fact[] = []
  const tools = { clock: systemClock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
  const world = realWorld(open, url, tools)
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers.split(','), timeout: 30_000 })
  const run = world.name('x').split('-').at(-2)!
  const opened: Transport[] = []

  /** With a look at what goes over the wire. */
  const openSeen = async (clock = systemClock): Promise<{ transport: Transport; wire: Wire }> => {
    const wire = await openWire(await loadClient(), readUrl(url), { ...tools, clock })
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
  }, 60_000)

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
    const data = Buffer.alloc(9 * 1024 * 1024)
    const parcel = { ...large!.parcel, event: { ...large!.parcel.event, data } }
    const answers = await inlet.settle([
      { do: 'later', delivery: large!, parcel },
      { do: 'later', delivery: small!, parcel: failedOnce(world, small!.parcel, 0) },
      { do: 'ack', delivery: acked! },
    ])
    expect(answers[0]).toBeInstanceOf(Error)
    expect(answers.slice(1)).toEqual(['done', 'done'])
    expect(await inlet.settle([burial(world, to, large!)])).toEqual(['done'])
    expect(idsOf([await takeOne(world, inlet)])).toEqual(idsOf([small!]))
  })

  it('publishes more than one record batch may hold', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    const data = Buffer.alloc(3 * 1024 * 1024, 7)
    const events = makeEvents(world, 6, { data, extensions: { orderkey: 'k' } })
    await transport.publish(to.topic, events)
    const got: Delivery[] = []
    while (got.length < 6) got.push(...(await take(world, inlet, 1)))
    expect(idsOf(got)).toEqual(events.map(({ id }) => id))
    expect(got.every(({ parcel }) => parcel.event.data?.byteLength === data.length)).toBe(true)
  })

  it('makes a destination that forgets, where the rules say so, and one that does not where they do not', async () => {
    const { transport } = await openSeen()
    const name = `_${world.name('mailer')}.deadletter`
    await transport.subscribe(
      makeSubscription(world, { destinations: [{ name, expire: 86_400_000 }, { name: `${name}.kept` }] }),
    )
    const retention = async (topic: string) => {
      const resources = [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: topic }]
      const [found] = await admin.describeConfigs({ resources })
      return found?.configs.find((config) => config.name === 'retention.ms')?.value
    }
    expect(await retention(name)).toBe('86400000')
    expect(await retention(`${name}.kept`)).toBe('-1')
  })

  it('puts off at the office door too', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, [makeEvent(world)])
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    const office = await transport.collect(to.destinations[0]!)
    const letter = await takeOne(world, office)
    const due = world.now() + 700
    await settleAll(office, [{ do: 'later', delivery: letter, parcel: { ...letter.parcel, due } }])
    const again = await takeOne(world, office)
    expect(world.now()).toBeGreaterThanOrEqual(due)
    expect(again.parcel.event.id).toBe(letter.parcel.event.id)
    await ackAll(office, [again])
    await takeNone(world, office)
  })

  it('a later subscription of the same group keeps what is out', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 4))
    const held = await take(world, inlet, 4)
    const other = { ...to, topic: world.name('other') }
    const second = await transport.subscribe(other)
    await transport.publish(other.topic, [makeEvent(world)])
    await ackAll(second, [await takeOne(world, second)])
    await ackAll(inlet, held)
    await takeNone(world, inlet)
  })

  it('passes on parcels that a member of the group has no subscription for', async () => {
    const first = await openSeen()
    const to = makeSubscription(world)
    const other = { ...to, topic: world.name('other') }
    const inlet = await first.transport.subscribe(to)
    await takeSome(world, inlet, { within: 1_000 })
    const second = await openSeen()
    const elsewhere = await second.transport.subscribe(other)
    const events = makeEvents(world, 12)
    await second.transport.forward(
      other,
      events.map((event) => freshParcel(event, world.now())),
    )
    const got: Delivery[] = []
    const waiting = inlet.receive(1, AbortSignal.timeout(25_000))
    while (got.length < 12) got.push(...(await take(world, elsewhere, 1)))
    expect(sorted(idsOf(got))).toEqual(sorted(events.map(({ id }) => id)))
    await first.transport.close()
    expect(await waiting).toEqual([])
  })

  it('reads on from the earliest record left where the log was cut off, and says so', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world, { window: 1 })
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, inOnePartition(1))
    await ackAll(inlet, [await takeOne(world, inlet)])
    const { partition } = (await committed(to.consumerGroup, to.topic)).find(({ offset }) => offset === 1)!
    await inlet.close()
    await transport.publish(to.topic, inOnePartition(4))
    await admin.deleteRecords({ topics: [{ name: to.topic, partitions: [{ partition, offset: 3n }] }] })
    const again = await transport.subscribe(to)
    const left: Delivery[] = []
    for (let n = 0; n < 2; n++) {
      left.push(await takeOne(world, again))
      await ackAll(again, [left[n]!])
    }
    expect(left.map(({ parcel }) => parcel.event.data?.toString())).toEqual(['{"n":2}', '{"n":3}'])
    const said = facts.filter((fact) => fact.is === 'trouble' && fact.error.message.includes(to.topic))
    expect(said).toHaveLength(1)
  })

  it('goes on after its connections broke, and loses nothing', async () => {
    const { transport, wire } = await openSeen()
    const consumers: Connected[] = []
    for (const make of ['fetcher', 'member'] as const) {
      const original = wire[make] as (arg: never) => unknown
      Object.assign(wire, {
        [make]: (arg: never) => {
          const made = original(arg)
          consumers.push(made as Connected)
          return made
        },
      })
    }
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 5))
    await ackAll(inlet, await take(world, inlet, 5))
    const cut = () => {
      for (const { connections } of [...consumers, wire.clerk, wire.producer] as Connected[]) {
        for (const [, connection] of connections) if (connection.isConnected()) connection.socket.destroy()
      }
    }
    const events = makeEvents(world, 60)
    const seen: string[] = []
    for (let n = 0; n < 60; n += 20) {
      cut()
      await transport.publish(to.topic, events.slice(n, n + 20))
      cut()
      const got = await take(world, inlet, 20)
      cut()
      const answers = await inlet.settle(got.map((delivery) => ({ do: 'ack', delivery })))
      expect(answers.every((answer) => answer === 'done')).toBe(true)
      seen.push(...idsOf(got))
    }
    expect(sorted([...new Set(seen)])).toEqual(sorted(events.map(({ id }) => id)))
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
    wire.clerk.connections.get = () => Promise.reject(new Error('nobody there'))
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

  it('cuts off what is finished from its retry topics', async () => {
    const hasty = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 20, signal),
    }
    const { transport } = await openSeen(hasty)
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 12))
    const got = await take(world, inlet, 12)
    await settleAll(
      inlet,
      got.map((delivery) => ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) })),
    )
    await ackAll(inlet, await take(world, inlet, 12))
    const begins = async () => {
      const partitions = [0, 1, 2].map((partitionIndex) => ({ partitionIndex, timestamp: -2n }))
      const [found] = await admin.listOffsets({
        topics: [{ name: `${to.consumerGroup}.retry.1s`, partitions }],
      })
      return found!.partitions.reduce((sum, { offset }) => sum + Number(offset), 0)
    }
    for (let n = 0; n < 100 && (await begins()) < 12; n++) await world.wait(100)
    expect(await begins()).toBe(12)
  })

  it('says what is wrong where nobody answers, soon and without the password', async () => {
    const since = world.now()
    const refused = open('kafka://ann:s3cret@127.0.0.1:1', tools)
    const error = (await refused.catch((reason: unknown) => reason)) as Error & { code: string }
    expect(error.code).toBe('unavailable')
    expect(error.message).toMatch(/127\.0\.0\.1:1.*ECONNREFUSED/)
    expect(JSON.stringify(error) + String(error.stack) + String(error.cause)).not.toMatch(/s3cret/)
    expect(world.now() - since).toBeLessThan(5_000)
  })

  it('can be closed at any moment of joining', async () => {
    for (const after of [0, 5, 40, 150]) {
      const { transport } = await openSeen()
      const to = makeSubscription(world)
      const inlets: Inlet[] = [await transport.subscribe(to), await transport.subscribe(to)]
      const waiting = inlets.map((inlet) => inlet.receive(1, new AbortController().signal))
      await world.wait(after)
      const since = world.now()
      await transport.close()
      expect(await Promise.all(waiting)).toEqual([[], []])
      expect(world.now() - since).toBeLessThan(4_000)
    }
  })
})
