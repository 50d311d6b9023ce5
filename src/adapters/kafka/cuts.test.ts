import { Admin } from '@platformatic/kafka'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { describeOwnKafka } from '../../../test/kafka/own-kafka.ts'
import type { Moment } from '../../../test/kafka/shears.ts'
import { type WiredKafka, wiredKafka } from '../../../test/kafka/wired-kafka.ts'
import { until } from '../../../test/until.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Clock } from '../../contracts/tools.ts'
import type { Inlet, Settlement, Transport } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import {
  ackAll,
  idsOf,
  makeEvents,
  makeSubscription,
  take,
  takeNone,
  takeOne,
} from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { loadClient } from './client.ts'
import { open } from './index.ts'
import { readUrl } from './settings.ts'
import { TRIES_AGAIN } from './transactor.ts'
import { openWire } from './wire.ts'

describeOwnKafka('a connection to Kafka that is cut at the worst moment', () => {
  /** Our own time limits, made so many times shorter while nobody answers. */
  let hurry = 1
  const clock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / hurry, signal) }
  const facts: Fact[] = []
  const tools = { clock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
  let wired: WiredKafka
  let url: string
  let admin: Admin
  let transport: Transport

  beforeAll(async () => {
    wired = await wiredKafka()
    url = `kafka://${wired.wire.url}?session=6000&heartbeat=300`
    admin = new Admin({ clientId: 'test', bootstrapBrokers: [...wired.kafka.brokers], retries: 5 })
  })
  afterAll(async () => {
    await admin.close()
    await wired.close()
  })
  beforeEach(async () => {
    transport = (await open(url, tools)).transport
  })
  afterEach(() => transport.close())

  const world = realWorld(open, '', tools)
  const started = async (transactions = false) => {
    const to = { ...makeSubscription(world), transactions }
    return { to, inlet: await transport.subscribe(to) }
  }
  /** How many records were written to it, marks of transactions not counted. */
  const written = async (topic: string): Promise<number> => {
    const partitions = [0, 1, 2].map((partitionIndex) => ({ partitionIndex, timestamp: -1n }))
    const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions }] })
    return found!.partitions.reduce((sum, { offset }) => sum + Number(offset), 0)
  }
  /** As the runtime does: what got no answer is settled again. */
  const untilDone = async (inlet: Inlet, settlement: Settlement) =>
    until('a settlement', async () => {
      const [answer] = await inlet.settle([settlement])
      if (answer !== 'done') expect(answer).toMatchObject({ code: 'unavailable' })
      return answer === 'done'
    })
  const isCut = (before: number) => expect(wired.shears.cuts).toBe(before + 1)

  it.each(['produce', 'confirm'] as const)(
    'before %s: what is published arrives, and once',
    async (moment) => {
      const { to, inlet } = await started()
      const events = makeEvents(world, 20)
      const { cuts } = wired.shears
      wired.shears.arm(moment)
      await transport.publish(to.topic, events)
      isCut(cuts)
      const got = await take(world, inlet, 20)
      expect([...idsOf(got)].sort()).toEqual(events.map(({ id }) => id).sort())
      await ackAll(inlet, got)
      expect(await written(to.topic)).toBe(20)
    },
  )

  const PLAIN: readonly Moment[] = ['confirm', 'commit', 'committed']
  const WITHIN: readonly Moment[] = ['commit within', 'end', 'ended']
  const moments = [
    ...PLAIN.map((moment) => ({ moment, transactions: false, how: 'plainly' })),
    ...WITHIN.map((moment) => ({ moment, transactions: true, how: 'in a transaction' })),
  ]
  it.each(moments)(
    'before $moment of a retry, $how: one copy comes, and the original never again',
    async ({ moment, transactions }) => {
      const { to, inlet } = await started(transactions)
      await transport.publish(to.topic, makeEvents(world, 1))
      const delivery = await takeOne(world, inlet)
      const { cuts } = wired.shears
      wired.shears.arm(moment)
      await untilDone(inlet, { do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) })
      isCut(cuts)
      const copy = await takeOne(world, inlet)
      expect(copy.parcel).toMatchObject({ event: { id: delivery.parcel.event.id }, trail: { spent: 1 } })
      await ackAll(inlet, [copy])
      if (!transactions) expect(await written(`${to.consumerGroup}.retry.1s`)).toBe(1)
      await takeNone(world, inlet)
      await transport.close()
      transport = (await open(url, tools)).transport
      await takeNone(world, await transport.subscribe(to))
    },
  )

  it.each(['end', 'ended'] as const)(
    'before %s of a transaction: the client tells that it tries again, which is what we go by',
    async (moment) => {
      const { to } = await started()
      const wire = await openWire(await loadClient(), readUrl(url), tools)
      const producer = wire.transactor(world.name('tx'))
      onTestFinished(async () => {
        await producer.close()
        await wire.close()
      })
      const again: unknown[] = []
      producer.on(TRIES_AGAIN as never, ((operation: string) => again.push(operation)) as never)
      const transaction = await producer.beginTransaction({ producerId: -1n, producerEpoch: -1 } as never)
      await transaction.send({
        messages: [{ topic: to.topic, value: Buffer.from('{}'), partition: 0 }],
      } as never)
      wired.shears.arm(moment)
      await transaction.commit()
      expect(again).toContain('endTransaction')
    },
  )

  it('half-open: publishing and settling are answered in time, and when it is back both go on', async () => {
    const { to, inlet } = await started()
    const [first, second] = makeEvents(world, 2)
    await transport.publish(to.topic, [first!])
    const delivery = await takeOne(world, inlet)
    const settlement: Settlement = { do: 'ack', delivery }
    const { wire } = wired
    wire.freeze()
    hurry = 10
    try {
      const [published, settled] = await Promise.all([
        transport.publish(to.topic, [second!]).catch((error: unknown) => error),
        inlet.settle([settlement]),
      ])
      expect(published).toMatchObject({ code: 'unavailable' })
      expect(settled).toMatchObject([{ code: 'unavailable' }])
    } finally {
      hurry = 1
      wire.admit()
      wire.cut()
    }
    // the same: whoever was refused publishes again
    await until('a publisher that goes on', () =>
      transport.publish(to.topic, [second!]).then(
        () => true,
        () => false,
      ),
    )
    const ids = new Set<string>()
    while (!ids.has(second!.id)) {
      const got = await take(world, inlet, 1)
      for (const id of idsOf(got)) ids.add(id)
      await inlet.settle(got.map((each) => ({ do: 'ack', delivery: each })))
    }
  })

  it('an outage is told with where and what, once by name, and so is its end', async () => {
    const { to, inlet } = await started()
    await transport.publish(to.topic, makeEvents(world, 1))
    await ackAll(inlet, [await takeOne(world, inlet)])
    const told = (is: Fact['is']) =>
      facts.filter((fact) => fact.is === is && JSON.stringify(fact).includes(to.consumerGroup))
    const { wire } = wired
    wire.refuse()
    wire.cut()
    try {
      await until('a trouble', () => told('trouble').length > 1)
    } finally {
      wire.admit()
    }
    await until('its end', () => told('notice').length > 0)
    for (const fact of told('trouble')) {
      if (fact.is !== 'trouble') continue
      expect(fact).toMatchObject({ where: `kafka group ${to.consumerGroup}` })
      expect(fact.error.message).toMatch(/^kafka at 127\.0\.0\.1:\d+: /)
      expect(fact.error.message).not.toContain(to.consumerGroup)
    }
    expect(told('notice')).toMatchObject([
      { text: expect.stringMatching(`^kafka group ${to.consumerGroup} goes on, after `) },
    ])
    await inlet.close()
  })
})
