import { expect, it } from 'vitest'
import { kafkaBench } from '../../../test/kafka/bench.ts'
import { describeWith } from '../../../test/services/urls.ts'
import type { Delivery } from '../../contracts/transport.ts'
import { idsOf, makeEvents, makeSubscription, take, takeNone, takeOne } from '../../testing/trials/kit.ts'
import { burial, failedOnce } from '../../testing/trials/samples.ts'

const WAYS = [
  { how: 'plainly', transactions: false },
  { how: 'in transactions', transactions: true },
]

describeWith(
  'kafka',
  'one settlement on kafka that fails leaves the others of its batch alone',
  (brokers) => {
    const { world, openSeen, admin } = kafkaBench(brokers)

    const start = async (count: number, transactions: boolean) => {
      const { transport } = await openSeen()
      const to = makeSubscription(world, { transactions })
      const inlet = await transport.subscribe(to)
      await transport.publish(to.topic, makeEvents(world, count, { extensions: { orderkey: 'k' } }))
      return { transport, to, inlet, got: await take(world, inlet, count) }
    }
    const later = (delivery: Delivery) =>
      ({ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }) as const

    it.each(WAYS)('where it can not be written, or its topic can not be, $how', async ({ transactions }) => {
      const { transport, to, inlet, got } = await start(5, transactions)
      const [put, mute, stray, buried, acked] = got as [Delivery, Delivery, Delivery, Delivery, Delivery]
      const letter = { ...burial(world, to, mute).letter, buriedAt: Number.NaN }
      const answers = await inlet.settle([
        later(put),
        { ...burial(world, to, mute), letter },
        { ...burial(world, to, stray), to: 'no place' },
        burial(world, to, buried),
        { do: 'ack', delivery: acked },
      ])
      expect(answers).toEqual([
        'done',
        expect.any(RangeError),
        expect.objectContaining({ code: 'bad_rules', message: expect.stringContaining("'no place'") }),
        'done',
        'done',
      ])
      expect(await inlet.settle([burial(world, to, mute), later(stray)])).toEqual(['done', 'done'])
      expect(idsOf(await take(world, inlet, 2)).toSorted()).toEqual(idsOf([put, stray]).toSorted())
      const office = await transport.collect(to.destinations[0]!)
      expect(await take(world, office, 2)).toHaveLength(2)
      await takeNone(world, office)
    })

    it.each(WAYS)('where its topic was deleted meanwhile, $how', async ({ transactions }) => {
      const { to, inlet, got } = await start(4, transactions)
      const [first, put, buried, acked] = got as [Delivery, Delivery, Delivery, Delivery]
      expect(await inlet.settle([later(first)])).toEqual(['done'])
      await takeOne(world, inlet)
      const grave = to.destinations[0]!.name
      await admin.deleteTopics({ topics: [grave] })
      while ((await admin.listTopics()).includes(grave)) await world.wait(20)
      const answers = await inlet.settle([
        later(put),
        burial(world, to, buried),
        { do: 'ack', delivery: acked },
      ])
      expect(answers).toEqual(['done', expect.objectContaining({ code: 'unavailable' }), 'done'])
      for (let tries = 0; ; tries++) {
        const [answer] = await inlet.settle([burial(world, to, buried)])
        if (answer === 'done') break
        expect(tries).toBeLessThan(40)
        await world.wait(100)
      }
      expect(idsOf([await takeOne(world, inlet)])).toEqual(idsOf([put]))
    })
  },
)
