import { afterAll, beforeAll, expect, it } from 'vitest'
import { soonClock } from '../../../test/kafka/bench.ts'
import { type GuardedKafka, guardedKafka } from '../../../test/kafka/guarded-kafka.ts'
import { makeTopic } from '../../../test/kafka/make-topic.ts'
import { describeOwnKafka } from '../../../test/kafka/own-kafka.ts'
import { until } from '../../../test/until.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Delivery, Inlet, Settlement, Transport } from '../../contracts/transport.ts'
import { realWorld, type TrialWorld } from '../../testing/trials/index.ts'
import { idsOf, makeEvents, makeSubscription } from '../../testing/trials/kit.ts'
import { failedOnce } from '../../testing/trials/samples.ts'
import { systemDice } from '../system/dice.ts'
import { open } from './index.ts'
import { retryTopics } from './tiers.ts'

const SESSION = 6_000

describeOwnKafka('a kafka topic of a consumer group that brokers no longer show', () => {
  let kafka: GuardedKafka
  beforeAll(async () => {
    kafka = await guardedKafka()
    // else whoever may make any topic may make each of them
    await kafka.write({ on: 'CLUSTER', name: 'kafka-cluster', right: 'ALL', says: 'ALLOW' })
    await kafka.write({ on: 'CLUSTER', name: 'kafka-cluster', right: 'CREATE', says: 'DENY' })
  })
  afterAll(async () => kafka?.close())

  const remove = async (name: string) => {
    await kafka.write({ name, right: 'ALL', says: 'ALLOW' })
    await kafka.write({ name, right: 'CREATE', says: 'DENY' })
    await kafka.admin.deleteTopics({ topics: [name] })
    await until('it to be gone', async () => !(await kafka.admin.listTopics()).includes(name))
  }
  const unseen = (name: string) => ({ name, right: 'DESCRIBE', says: 'DENY' }) as const
  const hide = async (name: string) => {
    await kafka.write({ name, right: 'ALL', says: 'ALLOW' })
    await kafka.write(unseen(name))
  }

  /** Each event fails once. */
  const consume = (world: TrialWorld, inlet: Inlet) => {
    const done: string[] = []
    const settle = (delivery: Delivery): Settlement =>
      delivery.parcel.trail.spent > 0
        ? { do: 'ack', delivery }
        : { do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }
    const run = async () => {
      for (;;) {
        const got = await inlet.receive(10, new AbortController().signal)
        const batch = got.map(settle)
        const answers = await inlet.settle(batch)
        // as the runtime does: while the broker has trouble, it is tried again
        for (const [i, each] of batch.entries()) {
          let answer = answers[i]!
          while (answer instanceof Error) [answer = answer] = await inlet.settle([each])
          if (answer === 'done' && each.do === 'ack') done.push(...idsOf([each.delivery]))
        }
      }
    }
    run().catch(() => {}) // it was closed
    return done
  }

  it.each([
    {
      how: 'deleted, and not ours to make',
      of: (topic: string) => topic,
      take: remove,
      give: (name: string) => makeTopic(kafka.admin, name, { partitions: 5 }),
    },
    {
      how: 'not ours to see',
      of: (topic: string) => topic,
      take: hide,
      give: (name: string) => kafka.strike(unseen(name)),
    },
    {
      how: 'of retries, deleted, and not ours to make',
      of: (_: string, consumerGroup: string) => retryTopics(consumerGroup).at(-1)!,
      take: remove,
      give: (name: string) => makeTopic(kafka.admin, name, { partitions: 3 }),
    },
  ])('is told, the others go on, and it too when it is back: $how', async ({ of, take, give }) => {
    const facts: Fact[] = []
    const tools = { clock: soonClock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
    const world = realWorld(open, `${kafka.url}?session=${SESSION}&heartbeat=300`, tools)
    const outside = (await realWorld(open, kafka.openUrl, { ...tools, journal: () => {} }).open()).transport!
    const to = makeSubscription(world)
    const beside = { ...to, topic: world.name('beside') }
    const gone = of(to.topic, to.consumerGroup)
    const [first, second] = [(await world.open()).transport!, (await world.open()).transport!]
    const send = async (transport: Transport, topic: string, count = 1) => {
      const events = makeEvents(world, count)
      await transport.publish(topic, events)
      return events.map(({ id }) => id)
    }
    const members = async () => {
      const groups = await kafka.admin.describeGroups({ groups: [to.consumerGroup] })
      return [...groups.get(to.consumerGroup)!.members.values()]
    }
    try {
      const taken = consume(world, await first.subscribe(to))
      const here = consume(world, await first.subscribe(beside))
      // it joins when it first receives
      const more = await second.subscribe(beside)
      const before = [...(await send(first, to.topic, 5)), ...(await send(first, beside.topic))]
      await until('both', () => before.every((id) => [...taken, ...here].includes(id)))
      const [member] = await members()

      await take(gone)
      const since = Date.now()
      await until('the others, for longer than a session', async () => {
        const sent = await send(first, beside.topic, 3)
        await until('them', () => sent.every((id) => here.includes(id)))
        return Date.now() - since > 2 * SESSION
      })
      expect((await members()).map(({ id }) => id)).toEqual([member!.id])

      const there = consume(world, more)
      const sent: string[] = []
      await until('another member to have its share', async () => {
        sent.push(...(await send(second, beside.topic, 6)))
        return there.length > 0
      })
      await until('all of them', () => sent.every((id) => [...here, ...there].includes(id)))
      const told = await until('the trouble', () =>
        facts.find((fact) => fact.is === 'trouble' && fact.error.message.includes(`goes on without ${gone}`)),
      )
      expect(told).toMatchObject({
        error: { fix: expect.stringContaining('allow this user') },
        retryIn: 30_000,
      })
      if (gone === to.topic) await expect(second.subscribe(to)).rejects.toMatchObject({ code: 'unavailable' })

      await give(gone)
      await until('it to be dealt out', async () =>
        (await members()).some(({ assignments }) => assignments?.has(gone)),
      )
      const after = await send(outside, to.topic, 20)
      await until('what was sent since', () => after.every((id) => taken.includes(id)))
      expect(taken.filter((id) => before.includes(id)).toSorted()).toEqual(before.slice(0, 5).sort())
    } finally {
      await Promise.all([first.close(), second.close(), outside.close()])
    }
  })
})
