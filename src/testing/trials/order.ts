import assert from 'node:assert/strict'
import type { Event } from '../../core/event.ts'
import { freshParcel } from '../../core/parcel.ts'
import {
  ackAll,
  idsOf,
  makeEvents,
  settleAll,
  subscribed,
  subscribedToo,
  take,
  takeFromAny,
  takeNone,
  takeOne,
  takeSome,
  transportTrial,
} from './kit.ts'
import { burial, failedOnce } from './samples.ts'
import type { Trial, TrialWorld } from './trial.ts'

export const keyed = (world: TrialWorld, orderkey: string, count: number): readonly Event[] =>
  makeEvents(world, count, { extensions: { orderkey } })

const needsKey: Trial['needs'] = ({ order }) =>
  order === 'key' ? undefined : `it can't keep order by key over any number of workers (order: ${order})`

export const keyTrial = (name: string, run: Trial['run']): Trial => transportTrial(name, run, needsKey)

export const orderTrials: readonly Trial[] = [
  transportTrial(
    'events of one order key come in the order they were published',
    async (world) => {
      const { transport, to, inlet } = await subscribed(world, { order: 'key' })
      const events = keyed(world, 'a', 20)
      for (const event of events) await transport.publish(to.topic, [event])
      const got: string[] = []
      while (got.length < 20) {
        const delivery = await takeOne(world, inlet)
        got.push(delivery.parcel.event.id)
        await ackAll(inlet, [delivery])
      }
      assert.deepEqual(
        got,
        events.map(({ id }) => id),
      )
    },
    ({ order }) => (order === 'none' ? 'it keeps no order (order: none)' : undefined),
  ),

  keyTrial('a follower waits while the head of its key is out, other keys go on', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { order: 'key' })
    const [a1, a2] = keyed(world, 'a', 2)
    const [b1] = keyed(world, 'b', 1)
    const [loose] = makeEvents(world, 1)
    await transport.publish(to.topic, [a1!, a2!, b1!, loose!])
    const got = await take(world, inlet, 3)
    assert.deepEqual(idsOf(got), [a1!.id, b1!.id, loose!.id])
    await takeNone(world, inlet)
    await ackAll(inlet, got.slice(0, 1))
    assert.equal((await takeOne(world, inlet)).parcel.event.id, a2!.id)
  }),

  keyTrial('rules that put in order what is out let its followers go when it is settled', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { order: 'none' })
    const [first, second] = keyed(world, 'a', 2)
    await transport.publish(to.topic, [first!, second!])
    const [out] = await takeSome(world, inlet)
    const ordered = await transport.subscribe({ ...to, order: 'key' })
    await ackAll(inlet, [out!])
    assert.equal((await takeOne(world, ordered)).parcel.event.id, second!.id)
  }),

  keyTrial('a follower waits while the head of its key is put off', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { order: 'key' })
    const [a1, a2] = keyed(world, 'a', 2)
    const [b1] = keyed(world, 'b', 1)
    await transport.publish(to.topic, [a1!, a2!])
    const head = await takeOne(world, inlet)
    const parcel = failedOnce(world, head.parcel, 1000)
    await settleAll(inlet, [{ do: 'later', delivery: head, parcel }])
    await transport.publish(to.topic, [b1!])
    assert.equal((await takeOne(world, inlet)).parcel.event.id, b1!.id)
    await takeNone(world, inlet, 500)
    const again = await takeOne(world, inlet)
    assert.equal(again.parcel.event.id, a1!.id)
    assert.ok(world.now() >= parcel.due)
    await takeNone(world, inlet)
    await ackAll(inlet, [again])
    assert.equal((await takeOne(world, inlet)).parcel.event.id, a2!.id)
  }),

  keyTrial('a follower waits for a head that another consumer holds', async (world) => {
    const first = await subscribed(world, { order: 'key' })
    const second = await subscribedToo(world, first.to)
    const inlets = [first.inlet, second.inlet]
    const events = keyed(world, 'a', 6)
    await first.transport.publish(first.to.topic, events)
    const got: string[] = []
    while (got.length < 6) {
      const { at, delivery } = await takeFromAny(world, inlets)
      await takeNone(world, inlets[1 - at]!, 50)
      got.push(delivery.parcel.event.id)
      await ackAll(inlets[at]!, [delivery])
    }
    assert.deepEqual(
      got,
      events.map(({ id }) => id),
    )
  }),

  keyTrial('a head that is given back keeps its place', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { order: 'key' })
    const [a1, a2] = keyed(world, 'a', 2)
    await transport.publish(to.topic, [a1!, a2!])
    const head = await takeOne(world, inlet)
    await settleAll(inlet, [{ do: 'give back', delivery: head }])
    const again = await takeOne(world, inlet)
    assert.equal(again.parcel.event.id, a1!.id)
    await ackAll(inlet, [again])
    assert.equal((await takeOne(world, inlet)).parcel.event.id, a2!.id)
  }),

  keyTrial('when the head is buried its followers go on', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { order: 'key' })
    const [a1, a2] = keyed(world, 'a', 2)
    await transport.publish(to.topic, [a1!, a2!])
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    assert.equal((await takeOne(world, inlet)).parcel.event.id, a2!.id)
  }),

  keyTrial('types that take no part in the order pass by a key that waits', async (world) => {
    const ordering = { types: ['trial.*'], others: ['trial.noted'] }
    const { transport, to, inlet } = await subscribed(world, { order: 'key', ordering })
    const [a1, a2] = keyed(world, 'a', 2)
    const noted = keyed(world, 'a', 2).map((event): Event => ({ ...event, type: 'trial.noted' }))
    await transport.publish(to.topic, [a1!, a2!, noted[0]!])
    await transport.forward(to, [freshParcel(noted[1]!, world.now())])
    const got = await take(world, inlet, 3)
    assert.deepEqual(idsOf(got), [a1!.id, noted[0]!.id, noted[1]!.id])
    await settleAll(inlet, [
      { do: 'later', delivery: got[1]!, parcel: failedOnce(world, got[1]!.parcel, 60_000) },
      { ...burial(world, to, got[2]!), holds: true },
      { do: 'ack', delivery: got[0]! },
    ])
    assert.equal((await takeOne(world, inlet)).parcel.event.id, a2!.id)
  }),

  transportTrial(
    'what a consumer that closes has not settled comes to the next one, in order',
    async (world) => {
      const first = await subscribed(world, { order: 'key', window: 10 })
      const events = keyed(world, 'a', 30)
      await first.transport.publish(first.to.topic, events.slice(0, 20))
      const got = await take(world, first.inlet, 10)
      const second = await subscribedToo(world, first.to)
      // ownership may have moved when the second came: then what the first has is no longer its to settle
      await first.inlet.settle(got.slice(0, 4).map((delivery) => ({ do: 'ack', delivery })))
      await first.transport.publish(first.to.topic, events.slice(20))
      await first.inlet.close()
      const ids = events.map(({ id }) => id)
      const came: string[] = []
      while (came.at(-1) !== ids.at(-1)) {
        const some = await takeSome(world, second.inlet, { max: 7 })
        assert.ok(some.length > 0, `only ${came.length} came`)
        came.push(...idsOf(some))
        await ackAll(second.inlet, some)
      }
      assert.deepEqual(came, ids.slice(-came.length))
      assert.ok(came.length >= 26, `${came.length} came, and 26 were not settled`)
    },
    ({ order }) => (order === 'owner' ? undefined : `order is not kept by ownership (order: ${order})`),
  ),
]
