import assert from 'node:assert/strict'
import { freshParcel } from '../../core/parcel.ts'
import {
  ackAll,
  idsOf,
  makeEvent,
  makeEvents,
  makeSubscription,
  rejectsWith,
  sorted,
  subscribed,
  subscribedToo,
  take,
  takeNone,
  takeOne,
  transportTrial,
} from './kit.ts'
import { onTime, takeTimed } from './later.ts'
import { failedOnce, sameEvent } from './samples.ts'
import type { Trial } from './trial.ts'

export const forwardTrials: readonly Trial[] = [
  transportTrial('forward reaches one subscription of two on a topic', async (world) => {
    const one = await subscribed(world)
    const two = await subscribed(world, { topic: one.to.topic })
    const event = makeEvent(world)
    await one.transport.forward(two.to, [freshParcel(event, world.now())])
    const delivery = await takeOne(world, two.inlet)
    sameEvent(delivery.parcel.event, event)
    await ackAll(two.inlet, [delivery])
    await takeNone(world, one.inlet)
  }),

  transportTrial('forward from a connection that did not subscribe', async (world) => {
    const { to, inlet } = await subscribed(world)
    const transport = (await world.open()).transport!
    const event = makeEvent(world)
    const { service, topic, consumerGroup } = to
    await transport.forward({ service, topic, consumerGroup }, [freshParcel(event, world.now())])
    sameEvent((await takeOne(world, inlet)).parcel.event, event)
  }),

  transportTrial('forward to a subscription that does not exist is refused', async (world) => {
    const transport = (await world.open()).transport!
    const parcel = freshParcel(makeEvent(world), world.now())
    await rejectsWith('unknown_subscription', transport.forward(makeSubscription(world), [parcel]))
  }),

  transportTrial('forward to another service of a known topic is refused', async (world) => {
    const { transport, to } = await subscribed(world)
    const parcel = freshParcel(makeEvent(world), world.now())
    const other = makeSubscription(world, { topic: to.topic })
    await rejectsWith('unknown_subscription', transport.forward(other, [parcel]))
  }),

  transportTrial('forwarded with a future due time it waits', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const due = world.now() + 1000
    await transport.forward(to, [freshParcel(makeEvent(world), due)])
    const { delivery, at } = await takeTimed(world, inlet)
    onTime(at, due, transport.can.late(1000), world.slack)
    assert.equal(delivery.parcel.due, due)
  }),

  transportTrial('forward keeps the trail, a replay included', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const once = failedOnce(world, freshParcel(makeEvent(world), world.now()), 0)
    const replay = { letter: 'letter-7', attempt: 1, receiptTo: '_office.receipts' }
    const parcel = { ...once, trail: { ...once.trail, generation: 1, replay } }
    await transport.forward(to, [parcel])
    const delivery = await takeOne(world, inlet)
    sameEvent(delivery.parcel.event, parcel.event)
    assert.deepEqual(delivery.parcel.trail, parcel.trail)
  }),

  transportTrial('forward takes many at once, and waits for the reader', async (world) => {
    const { transport, to } = await subscribed(world)
    const events = makeEvents(world, 50)
    await transport.forward(
      to,
      events.map((event) => freshParcel(event, world.now())),
    )
    await transport.close()
    const back = await subscribedToo(world, to)
    assert.deepEqual(sorted(idsOf(await take(world, back.inlet, 50))), sorted(events.map(({ id }) => id)))
  }),
]
