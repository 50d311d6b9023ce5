import assert from 'node:assert/strict'
import type { Delivery } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { MAX_ATTRIBUTES_BYTES } from '../../core/event.ts'
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
  takeFromAny,
  takeNone,
  takeOne,
  transportTrial,
} from './kit.ts'
import { sameEvent } from './samples.ts'
import type { Trial } from './trial.ts'
import { untilShared } from './work.ts'

export const publishTrials: readonly Trial[] = [
  transportTrial('what is published while the reader is away waits for it', async (world) => {
    const reader = await subscribed(world)
    await reader.transport.close()
    const event = makeEvent(world)
    await (await world.open()).transport!.publish(reader.to.topic, [event])
    const back = await subscribedToo(world, reader.to)
    sameEvent((await takeOne(world, back.inlet)).parcel.event, event)
  }),

  transportTrial('what was published and not received outlives the connection', async (world) => {
    const { transport, to } = await subscribed(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    await transport.close()
    const back = await subscribedToo(world, to)
    sameEvent((await takeOne(world, back.inlet)).parcel.event, event)
  }),

  transportTrial('an event reaches every subscription of its topic', async (world) => {
    const one = await subscribed(world)
    const two = await subscribed(world, { topic: one.to.topic })
    const event = makeEvent(world)
    await one.transport.publish(one.to.topic, [event])
    for (const { inlet } of [one, two]) {
      const delivery = await takeOne(world, inlet)
      sameEvent(delivery.parcel.event, event)
      await ackAll(inlet, [delivery])
      await takeNone(world, inlet)
    }
  }),

  transportTrial('an event reaches no other topic', async (world) => {
    const one = await subscribed(world)
    const two = await subscribed(world, { service: one.to.service })
    const event = makeEvent(world)
    await one.transport.publish(two.to.topic, [event])
    assert.equal((await takeOne(world, two.inlet)).parcel.event.id, event.id)
    await takeNone(world, one.inlet)
  }),

  transportTrial('what nobody hears is refused, or kept, as the adapter declares', async (world) => {
    const transport = (await world.open()).transport!
    const to = makeSubscription(world)
    const event = makeEvent(world)
    const publishing = transport.publish(to.topic, [event])
    if (transport.can.unheard === 'refused') return rejectsWith('unheard', publishing)
    await publishing
    const later = await subscribedToo(world, to)
    assert.equal((await takeOne(world, later.inlet)).parcel.event.id, event.id)
  }),

  transportTrial('a pattern hears every topic with its beginning, or is refused', async (world) => {
    const transport = (await world.open()).transport!
    const beginning = world.name('family')
    const to = makeSubscription(world, { topic: `${beginning}.*` })
    if (!transport.can.patterns) {
      await assert.rejects(transport.subscribe(to), ReprieveError)
      return
    }
    const outside = await subscribed(world)
    const inlet = await transport.subscribe(to)
    const [one, two, other] = makeEvents(world, 3)
    await transport.publish(`${beginning}.one`, [one!])
    await transport.publish(`${beginning}.two.deeper`, [two!])
    await transport.publish(outside.to.topic, [other!])
    assert.deepEqual(sorted(idsOf(await take(world, inlet, 2))), sorted([one!.id, two!.id]))
    await takeNone(world, inlet)
  }),

  transportTrial('a subscription gets every event of the types it names', async (world) => {
    const all = await subscribed(world)
    const some = await subscribed(world, { topic: all.to.topic, types: ['trial.wanted', 'order.*'] })
    const events = ['trial.wanted', 'trial.unwanted', 'order.placed', 'order', 'order.paid'].map((type) =>
      makeEvent(world, { type }),
    )
    await all.transport.publish(all.to.topic, events)
    await take(world, all.inlet, 5)
    // A transport may hand over the others too: the runtime passes them by.
    const wanted = new Set(['trial.wanted', 'order.placed', 'order.paid'])
    const got: Delivery[] = []
    while (got.filter(({ parcel }) => wanted.has(parcel.event.type)).length < 3) {
      got.push(await takeOne(world, some.inlet))
    }
    await ackAll(some.inlet, got)
  }),

  transportTrial('500 events in one batch all arrive, once each', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { window: 1000 })
    const events = makeEvents(world, 500)
    await transport.publish(to.topic, events)
    const got = await take(world, inlet, 500)
    assert.deepEqual(sorted(idsOf(got)), sorted(events.map(({ id }) => id)))
    await ackAll(inlet, got)
    await takeNone(world, inlet)
  }),

  transportTrial('many may publish at once', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const events = makeEvents(world, 30)
    await Promise.all(events.map((event) => transport.publish(to.topic, [event])))
    assert.deepEqual(sorted(idsOf(await take(world, inlet, 30))), sorted(events.map(({ id }) => id)))
  }),

  transportTrial('publishing nothing is fine', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [])
    await takeNone(world, inlet)
  }),

  transportTrial('attributes just under the limit are carried whole', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world, {
      extensions: { long: 'e'.repeat(MAX_ATTRIBUTES_BYTES / 2) },
      headers: { 'x-long': 'h'.repeat(MAX_ATTRIBUTES_BYTES / 2 - 500) },
    })
    await transport.publish(to.topic, [event])
    sameEvent((await takeOne(world, inlet)).parcel.event, event)
  }),

  transportTrial('attributes over the limit are refused, and nothing is published', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const large = makeEvent(world, { extensions: { long: 'e'.repeat(MAX_ATTRIBUTES_BYTES + 1) } })
    await rejectsWith('bad_event', transport.publish(to.topic, [makeEvent(world), large]))
    await takeNone(world, inlet)
  }),

  transportTrial('subscribing again is the same subscription', async (world) => {
    const first = await subscribed(world)
    const second = await subscribedToo(world, first.to)
    await untilShared(world, [first, second])
    const inlets = [first.inlet, second.inlet]
    await first.transport.publish(first.to.topic, [makeEvent(world)])
    const { at, delivery } = await takeFromAny(world, inlets)
    await ackAll(inlets[at]!, [delivery])
    for (const inlet of inlets) await takeNone(world, inlet)
  }),
]
