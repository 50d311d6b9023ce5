import { Admin } from '@platformatic/kafka'
import { afterAll, expect, it } from 'vitest'
import { describeWith } from '../../../test/services/urls.ts'
import type { Fact } from '../../contracts/journal.ts'
import type { Delivery, Transport } from '../../contracts/transport.ts'
import { realWorld } from '../../testing/trials/index.ts'
import {
  ackAll,
  idsOf,
  makeEvents,
  makeSubscription,
  sorted,
  take,
  takeOne,
} from '../../testing/trials/kit.ts'
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

describeWith('kafka', 'fetching from kafka', (brokers) => {
  const url = `kafka://${brokers}`
  const facts: Fact[] = []
  const tools = { clock: systemClock, dice: systemDice(), journal: (fact: Fact) => void facts.push(fact) }
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
})
