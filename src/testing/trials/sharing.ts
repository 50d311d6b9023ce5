import assert from 'node:assert/strict'
import { freshParcel } from '../../core/parcel.ts'
import {
  ackAll,
  idsOf,
  makeEvent,
  makeEvents,
  rejectsWith,
  sorted,
  subscribed,
  subscribedToo,
  take,
  takeFromAny,
  takeOne,
  transportTrial,
} from './kit.ts'
import type { Trial } from './trial.ts'
import { untilShared, workOff } from './work.ts'

export const sharingTrials: readonly Trial[] = [
  transportTrial('three consumers share 200 events, each settled once, none missing', async (world) => {
    const first = await subscribed(world, { window: 20 })
    const desks = [first, await subscribedToo(world, first.to), await subscribedToo(world, first.to)]
    await untilShared(world, desks)
    const events = makeEvents(world, 200)
    const working = workOff(
      world,
      desks.map(({ inlet }) => inlet),
      200,
    )
    await first.transport.publish(first.to.topic, events)
    const { settled } = await working
    assert.deepEqual(sorted([...settled.keys()]), sorted(events.map(({ id }) => id)))
    const doubles = [...settled].filter(([, times]) => times > 1)
    assert.deepEqual(doubles, [], 'settled more than once')
  }),

  transportTrial('what a closed inlet held goes to another consumer', async (world) => {
    const first = await subscribed(world)
    const second = await subscribedToo(world, first.to)
    await untilShared(world, [first, second])
    const inlets = [first.inlet, second.inlet]
    const event = makeEvent(world)
    await first.transport.publish(first.to.topic, [event])
    const { at } = await takeFromAny(world, inlets)
    await inlets[at]!.close()
    const again = await takeOne(world, inlets[1 - at]!)
    assert.equal(again.parcel.event.id, event.id)
    assert.equal(again.redelivered, true)
    await ackAll(inlets[1 - at]!, [again])
  }),

  transportTrial('what a closed transport held goes to another consumer', async (world) => {
    const desks = [await subscribed(world)]
    desks.push(await subscribedToo(world, desks[0]!.to))
    await untilShared(world, desks)
    const event = makeEvent(world)
    await desks[0]!.transport.publish(desks[0]!.to.topic, [event])
    const { at } = await takeFromAny(
      world,
      desks.map(({ inlet }) => inlet),
    )
    await desks[at]!.transport.close()
    const again = await takeOne(world, desks[1 - at]!.inlet)
    assert.equal(again.parcel.event.id, event.id)
    assert.equal(again.redelivered, true)
  }),

  transportTrial('after a restart the rest comes', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const events = makeEvents(world, 20)
    await transport.publish(to.topic, events)
    const half = await take(world, inlet, 10)
    await ackAll(inlet, half)
    await transport.close()
    const back = await subscribedToo(world, to)
    const rest = await take(world, back.inlet, 10)
    assert.deepEqual(sorted(idsOf([...half, ...rest])), sorted(events.map(({ id }) => id)))
  }),

  transportTrial('closing again is fine, in any order', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const office = await transport.collect(to.destinations[0]!)
    await inlet.close()
    await inlet.close()
    await Promise.all([transport.close(), transport.close(), office.close()])
    await transport.close()
    await inlet.close()
  }),

  transportTrial('a receive that waits ends with the close', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const second = await transport.subscribe(to)
    const never = new AbortController().signal
    const waiting = [inlet.receive(1, never), second.receive(1, never)]
    await world.wait(50)
    await inlet.close()
    await transport.close()
    await world.wait(5_000, Promise.all(waiting))
    assert.deepEqual(await Promise.all(waiting), [[], []])
  }),

  transportTrial('used after close it says so', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.close()
    await rejectsWith('closed', transport.publish(to.topic, [makeEvent(world)]))
    await rejectsWith('closed', transport.subscribe(to))
    await rejectsWith('closed', transport.collect(to.destinations[0]!))
    await rejectsWith('closed', transport.forward(to, [freshParcel(makeEvent(world), world.now())]))
    // A receive loop may end either way.
    const receiving = inlet.receive(1, new AbortController().signal)
    const answer = await receiving.catch((error: { code?: unknown }) => error.code)
    assert.ok(answer === 'closed' || (Array.isArray(answer) && answer.length === 0), String(answer))
  }),
]
