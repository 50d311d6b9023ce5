import { Admin, ConfigResourceTypes } from '@platformatic/kafka'
import { afterAll, expect, it } from 'vitest'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { until } from '../../../test/until.ts'
import type { Delivery, Inlet, Transport } from '../../contracts/transport.ts'
import { MAX_DATA_BYTES } from '../../core/event.ts'
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
import { readUrl } from './settings.ts'
import { kafkaTransport } from './transport.ts'
import { openWire, type Wire } from './wire.ts'

describeWith('kafka', 'the kafka transport', (brokers) => {
  const url = `kafka://${brokers}`
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
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

  afterAll(async () => {
    await Promise.all(opened.map((transport) => transport.close()))
    const ours = (await admin.listTopics()).filter((name) => name.includes(run))
    if (ours.length > 0) await admin.deleteTopics({ topics: ours })
    await admin.close()
  })

  it('credentials for a port that asks for none are refused with that reason, and not shown', async () => {
    const refused = await open(`kafka://ann:s3cret@${brokers}`, tools).catch((error: Error) => error)
    expect(refused).toMatchObject({
      code: 'unavailable',
      fix: expect.stringMatching(
        /^that port asks for no credentials: leave user and password out .*REPRIEVE_KAFKA_USER/,
      ),
    })
    expect(String(refused)).not.toContain('s3cret')
  })

  it('a wait longer than the longest tier goes through it again, due when it was due', async () => {
    let ahead = 0
    const { transport, wire } = await openSeen({ ...systemClock, now: () => systemClock.now() + ahead })
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    const parcel = freshParcel(makeEvent(world), systemClock.now() + 3 * 3_600_000)
    await transport.forward(to, [parcel])
    const stop = new AbortController()
    const taken = inlet.receive(1, stop.signal)
    const before = wire.counts.produces
    await until('it to lie in the tier and its hour to be over', () => {
      // heartbeats tell by the same clock whether partitions are still ours
      if (ahead === 0) ahead = 3_600_000 + 10_000
      return wire.counts.produces > before
    })
    ahead = 3 * 3_600_000 + 10_000
    expect((await taken).map((delivery) => delivery.parcel)).toEqual([parcel])
  })

  it('what was handed over before is still so when it was put off, and put off again', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 1))
    const putOff = async (delivery: Delivery) => {
      const parcel = { ...delivery.parcel, due: systemClock.now() + 50 }
      expect(await inlet.settle([{ do: 'later', delivery, parcel }])).toEqual(['done'])
      return takeOne(world, inlet)
    }
    const first = await takeOne(world, inlet)
    await inlet.settle([{ do: 'give back', delivery: first }])
    const again = await takeOne(world, inlet)
    expect(again.redelivered).toBe(true)
    const later = await putOff(again)
    expect(later.redelivered).toBe(true)
    expect((await putOff(later)).redelivered).toBe(true)
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

  it('what is too large is refused in clear words; what can be published can be put off and buried', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world)
    const inlet = await transport.subscribe(to)
    const sized = (bytes: number) => makeEvent(world, { data: Buffer.alloc(bytes, 7) })
    const narrow = world.name('narrow')
    await makeTopic(admin, narrow)
    await expect(transport.publish(narrow, [sized(1_200_000)])).rejects.toMatchObject({
      code: 'bad_event',
      message: expect.stringMatching(/larger than the topic .*\n {2}fix: raise max\.message\.bytes/),
    })
    await transport.publish(to.topic, [sized(MAX_DATA_BYTES)])
    const large = await takeOne(world, inlet)
    await settleAll(inlet, [{ do: 'later', delivery: large, parcel: failedOnce(world, large.parcel, 0) }])
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    await takeNone(world, inlet)
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
