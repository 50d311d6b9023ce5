import { afterAll, beforeAll, expect, it } from 'vitest'
import { type GuardedKafka, guardedKafka } from '../../../test/kafka/guarded-kafka.ts'
import { describeOwnKafka } from '../../../test/kafka/own-kafka.ts'
import { until } from '../../../test/until.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Inlet } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import { idsOf, makeEvents, makeSubscription, take, takeOne } from '../../testing/trials/kit.ts'
import { burial, failedOnce } from '../../testing/trials/samples.ts'
import { systemClock } from '../system/clock.ts'
import { systemDice } from '../system/dice.ts'
import { type Consumer, loadClient } from './client.ts'
import { open } from './index.ts'
import { readUrl } from './settings.ts'
import { kafkaTransport } from './transport.ts'
import { openWire } from './wire.ts'

describeOwnKafka('a kafka that forbids a user one topic', () => {
  const tools = { clock: systemClock, dice: systemDice(), journal: () => {} }
  let kafka: GuardedKafka
  beforeAll(async () => {
    kafka = await guardedKafka()
  })
  afterAll(async () => kafka?.close())

  it.each([
    { right: 'WRITE', transactions: false },
    { right: 'WRITE', transactions: true },
    { right: 'DESCRIBE', transactions: false },
    { right: 'DESCRIBE', transactions: true },
  ] as const)(
    'fails what goes there and nothing beside it: $right, transactions $transactions',
    async (given) => {
      const world = realWorld(open, kafka.url, tools)
      const to = makeSubscription(world, { transactions: given.transactions })
      const { transport } = await world.open()
      try {
        const inlet = await transport!.subscribe(to)
        await transport!.publish(to.topic, makeEvents(world, 4))
        const [put, forbidden, buried, acked] = await take(world, inlet, 4)
        await kafka.write({ name: to.destinations[1]!.name, right: given.right, says: 'DENY' })
        const answers = await inlet.settle([
          { do: 'later', delivery: put!, parcel: failedOnce(world, put!.parcel, 0) },
          burial(world, to, forbidden!, 1),
          burial(world, to, buried!),
          { do: 'ack', delivery: acked! },
        ])
        expect(answers).toEqual(['done', expect.objectContaining({ code: 'unavailable' }), 'done', 'done'])
        expect(await inlet.settle([burial(world, to, forbidden!)])).toEqual(['done'])
        expect(idsOf([await takeOne(world, inlet)])).toEqual(idsOf([put!]))
      } finally {
        await transport!.close()
      }
    },
  )

  it('or its consumer group keeps no connection of a member that leaves, though it may not say so', async () => {
    const world = realWorld(open, kafka.url, tools)
    const to = makeSubscription(world)
    const wire = await openWire(await loadClient(), readUrl(kafka.url), tools)
    const consumers: Consumer[] = []
    const member: typeof wire.member = (options) => {
      const consumer = wire.member(options)
      consumers.push(consumer)
      return consumer
    }
    const transport = kafkaTransport({ ...wire, member })
    const inlet = await transport.subscribe(to)
    await transport.publish(to.topic, makeEvents(world, 1))
    await takeOne(world, inlet)
    await kafka.write({ on: 'GROUP', name: to.consumerGroup, right: 'READ', says: 'DENY' })
    await transport.close()
    expect(consumers.flatMap(({ connections }) => [...connections].map(([at]) => at))).toEqual([])
  })

  it('to read goes on with the others of the consumer group, whoever joins it, and with that one when it may', async () => {
    const facts: Fact[] = []
    const world = realWorld(open, kafka.url, { ...tools, journal: (fact) => void facts.push(fact) })
    const to = makeSubscription(world)
    const beside = { ...to, topic: world.name('beside') }
    const [first, second] = [(await world.open()).transport!, (await world.open()).transport!]
    const consume = (inlet: Inlet) => {
      const done: string[] = []
      const run = async () => {
        for (;;) {
          const got = await inlet.receive(10, new AbortController().signal)
          const answers = await inlet.settle(got.map((delivery) => ({ do: 'ack', delivery })))
          done.push(...idsOf(got.filter((_, i) => answers[i] === 'done')))
        }
      }
      run().catch(() => {}) // it was closed
      return done
    }
    const send = async (topic: string, count = 1) => {
      const events = makeEvents(world, count)
      await first.publish(topic, events)
      return events.map(({ id }) => id)
    }
    try {
      const forbidden = consume(await first.subscribe(to))
      const here = consume(await first.subscribe(beside))
      const ids = [...(await send(to.topic)), ...(await send(beside.topic))]
      await until('both', () => ids.every((id) => [...forbidden, ...here].includes(id)))
      const unreadable = { name: to.topic, right: 'READ', says: 'DENY' } as const
      await kafka.write({ name: to.topic, right: 'ALL', says: 'ALLOW' })
      await kafka.write(unreadable)
      const told = new RegExp(`fetching .*${to.topic}/\\d`)
      await until('the trouble', () =>
        facts.some((fact) => fact.is === 'trouble' && told.test(fact.error.message)),
      )
      const [unread] = await send(to.topic)
      const there = consume(await second.subscribe(beside))
      const sent: string[] = []
      await until('the other one to have its share', async () => {
        sent.push(...(await send(beside.topic, 6)))
        return there.length > 0
      })
      await until('all of them', () => sent.every((id) => [...here, ...there].includes(id)))
      expect(forbidden).not.toContain(unread)
      await kafka.strike(unreadable)
      await until('what could not be read', () => forbidden.includes(unread!))
    } finally {
      await Promise.all([first.close(), second.close()])
    }
  })
})
