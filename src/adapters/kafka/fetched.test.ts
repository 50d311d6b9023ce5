import { expect, it, onTestFinished } from 'vitest'
import { kafkaBench } from '../../../test/kafka/bench.ts'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Delivery } from '../../contracts/transport.ts'
import { ackAll, idsOf, makeEvents, makeSubscription, take, takeOne } from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { type Client, loadClient } from './client.ts'
import { readUrl } from './settings.ts'
import { kafkaTransport } from './transport.ts'
import { openWire } from './wire.ts'

describeWith('kafka', 'partitions that are fetched together from kafka', (brokers) => {
  const { world, openSeen, openOne, admin, raw, facts, tools, url } = kafkaBench(brokers)

  const put = (topic: string, partition: number, value: Buffer, more = {}) =>
    raw.send({ messages: [{ topic, partition, value }], acks: -1, ...more })
  const troubles = (topic: string) =>
    facts
      .flatMap((fact) => (fact.is === 'trouble' ? [fact.error.message] : []))
      .filter((text) => text.includes(topic))

  /** Over a client of which something is replaced. */
  const openWith = async (change: (client: Client) => object) => {
    const client = await loadClient()
    const wire = await openWire({ ...client, ...change(client) } as Client, readUrl(url), tools)
    const transport = kafkaTransport(wire)
    onTestFinished(() => transport.close())
    return { transport, wire }
  }

  it('go on beside one whose records can not be read, which is named', async () => {
    const { transport } = await openWith(
      ({ compressionsAlgorithms: { lz4 }, compressionsAlgorithmsByBitmask }) => {
        const decompressSync = () => {
          throw new Error('it can not be unpacked')
        }
        const crippled = { ...compressionsAlgorithmsByBitmask, [lz4.bitmask]: { ...lz4, decompressSync } }
        return { compressionsAlgorithmsByBitmask: crippled }
      },
    )
    const to = makeSubscription(world)
    await makeTopic(admin, to.topic, { partitions: 2 })
    const inlet = await transport.subscribe(to)
    await put(to.topic, 0, Buffer.from('{"before":1}'))
    await put(to.topic, 0, Buffer.alloc(500, 'x'), { compression: 'lz4' })
    for (let n = 0; n < 20; n++) {
      await put(to.topic, 1, Buffer.from(`{"n":${n}}`))
      await ackAll(inlet, [await takeOne(world, inlet)])
    }
    // and what lies before it is not kept back either
    await ackAll(inlet, [await takeOne(world, inlet)])
    await expect.poll(() => troubles(`${to.topic}/0`)).not.toEqual([])
    expect(troubles(`${to.topic}/0`)[0]).toMatch(/can not be unpacked/)
    expect(troubles(`${to.topic}/1`)).toEqual([])
  })

  it('are asked for first when others left them nothing: only the first gets its records however large they are', async () => {
    const firsts: number[] = []
    const { transport } = await openWith((client) => ({
      fetchV13: {
        ...client.fetchV13,
        createRequest: (...given: Parameters<typeof client.fetchV13.createRequest>) => {
          firsts.push(given[6][0]!.partitions[0]!.partition)
          return client.fetchV13.createRequest(...given)
        },
      },
    }))
    const name = world.name('foreign')
    await makeTopic(admin, name, { partitions: 2, settings: { 'max.message.bytes': '8000000' } })
    await put(name, 0, Buffer.alloc(200_000, 'x'))
    await put(name, 1, Buffer.alloc(3_000_000, 'x'))
    const inlet = await transport.collect({ name, foreign: true })
    const enough = new AbortController()
    const received = inlet.receive(1, enough.signal)
    await expect.poll(() => firsts.slice(0, 2), { timeout: 10_000 }).toEqual([0, 1])
    enough.abort()
    await received
  })

  it('are unpacked a little at a time, however much comes at once, and each gets its turn', async () => {
    let unpacked = 0
    const { transport } = await openWith(
      ({ compressionsAlgorithms: { lz4 }, compressionsAlgorithmsByBitmask }) => {
        const decompressSync = (bytes: Buffer) => {
          const all = lz4.decompressSync(bytes)
          unpacked += all.length
          return all
        }
        const counting = { ...compressionsAlgorithmsByBitmask, [lz4.bitmask]: { ...lz4, decompressSync } }
        return { compressionsAlgorithmsByBitmask: counting }
      },
    )
    const to = makeSubscription(world)
    await makeTopic(admin, to.topic, { partitions: 2 })
    const large = Buffer.alloc(4_000_000, ' ')
    for (let n = 0; n < 12; n++) await put(to.topic, n < 10 ? 0 : 1, large, { compression: 'lz4' })
    const inlet = await transport.subscribe(to)
    const [first] = await take(world, inlet, 1)
    expect(unpacked).toBeLessThan(2 * 16 * 1024 * 1024)
    await ackAll(inlet, [first!])
    for (let n = 1; n < 12; n++) await ackAll(inlet, [await takeOne(world, inlet)])
  })

  it('keep what is in hand when the log is cut off behind it: it can be retried', async () => {
    const { transport } = await openSeen()
    const to = makeSubscription(world, { window: 2 })
    await makeTopic(admin, to.topic, { partitions: 1, settings: { 'max.message.bytes': '8000000' } })
    const events = makeEvents(world, 8, { data: Buffer.alloc(300_000, ' ') })
    for (const event of events) await transport.publish(to.topic, [event])
    const inlet = await transport.subscribe(to)
    const first = await takeOne(world, inlet)
    await admin.deleteRecords({ topics: [{ name: to.topic, partitions: [{ partition: 0, offset: 6n }] }] })
    const seen: Delivery[] = []
    const takeNext = async () => {
      const next = await takeOne(world, inlet)
      await ackAll(inlet, [next])
      seen.push(next)
    }
    // until it reads on
    while (!idsOf(seen).includes(events[6]!.id)) await takeNext()
    expect(troubles(to.topic)).toHaveLength(1)
    const later = { do: 'later', delivery: first, parcel: failedOnce(world, first.parcel, 0) } as const
    expect(await inlet.settle([later])).toEqual(['done'])
    while (seen.length < 5) await takeNext()
    const ids = (numbers: readonly number[]) => numbers.map((n) => events[n]!.id).sort()
    expect([...idsOf(seen)].sort()).toEqual(ids([0, 1, 2, 6, 7]))
  })

  it('are as old as the broker says where it writes down when records came', async () => {
    const to = makeSubscription(world)
    const settings = { 'message.timestamp.type': 'LogAppendTime' }
    await makeTopic(admin, to.topic, { partitions: 1, settings })
    const inlet = await (await openOne()).subscribe(to)
    const before = Date.now()
    const message = { topic: to.topic, value: Buffer.from('1'), timestamp: BigInt(before - 3_600_000) }
    await raw.send({ messages: [message], acks: -1 })
    expect((await inlet.lag()).oldest).toBeGreaterThanOrEqual(before - 1_000)
  })
})
