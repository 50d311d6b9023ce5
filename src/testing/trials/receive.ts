import assert from 'node:assert/strict'
import type { Delivery } from '../../contracts/transport.ts'
import { freshTrail } from '../../core/trail.ts'
import {
  A_WHILE,
  ackAll,
  eventually,
  idsOf,
  makeEvent,
  makeEvents,
  settleAll,
  sorted,
  subscribed,
  take,
  takeNone,
  takeOne,
  takeSome,
  transportTrial,
} from './kit.ts'
import { failedOnce, sameEvent } from './samples.ts'
import type { Trial } from './trial.ts'

export const receiveTrials: readonly Trial[] = [
  transportTrial('what is handed over is what was published, with a fresh trail', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const before = world.now()
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const { parcel, redelivered, broken, claim } = await takeOne(world, inlet)
    sameEvent(parcel.event, event)
    assert.deepEqual(parcel.trail, freshTrail)
    assert.ok(parcel.due <= world.now() && parcel.due >= before - 1000, `due ${parcel.due - before} ms on`)
    assert.deepEqual(
      { redelivered, broken, claim },
      { redelivered: false, broken: undefined, claim: undefined },
    )
  }),

  transportTrial('receive waits for the first delivery', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    let answered = false
    const waiting = inlet.receive(10, new AbortController().signal).finally(() => {
      answered = true
    })
    await world.wait(200)
    assert.equal(answered, false, 'receive answered with nothing')
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    await world.wait(world.patience, waiting)
    assert.deepEqual(idsOf(await waiting), [event.id])
  }),

  transportTrial('on abort receive answers with nothing, and swallows nothing', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const stop = new AbortController()
    const waiting = inlet.receive(10, stop.signal)
    await world.wait(50)
    stop.abort()
    await world.wait(5_000, waiting)
    assert.deepEqual(await waiting, [])
    assert.deepEqual(await inlet.receive(10, stop.signal), [])
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    assert.equal((await takeOne(world, inlet)).parcel.event.id, event.id)
  }),

  transportTrial('an abort in the rush of deliveries swallows none', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const events = makeEvents(world, 40)
    const got: string[] = []
    const publishing = transport.publish(to.topic, events)
    for (let round = 0; got.length < 40 && round < 4000; round++) {
      const within = round < 200 ? 1 : 10
      const some = await takeSome(world, inlet, { max: 3, within })
      got.push(...idsOf(some))
      await ackAll(inlet, some)
    }
    await publishing
    assert.deepEqual(sorted(got), sorted(events.map(({ id }) => id)))
  }),

  transportTrial('receive hands over no more than asked', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, makeEvents(world, 5))
    const sizes: number[] = []
    const got: string[] = []
    while (got.length < 5) {
      const some = await takeSome(world, inlet, { max: 2 })
      assert.ok(some.length > 0, `${got.length} of 5 came`)
      sizes.push(some.length)
      got.push(...idsOf(some))
    }
    assert.ok(Math.max(...sizes) <= 2, `asked for 2, got ${sizes.join(', ')}`)
  }),

  transportTrial('no more are out than the window holds', async (world) => {
    const { transport, to, inlet } = await subscribed(world, { window: 3 })
    await transport.publish(to.topic, makeEvents(world, 5))
    const out = await take(world, inlet, 3)
    await takeNone(world, inlet)
    await ackAll(inlet, out.slice(0, 1))
    const [fourth] = await take(world, inlet, 1)
    await takeNone(world, inlet)
    await ackAll(inlet, [fourth!, ...out.slice(1)])
    await ackAll(inlet, await take(world, inlet, 1))
    await takeNone(world, inlet)
  }),

  transportTrial('two receives at once never share a delivery', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const events = makeEvents(world, 40)
    const stop = new AbortController()
    const got: string[] = []
    const all = Promise.withResolvers<void>()
    const reader = async () => {
      while (!stop.signal.aborted) {
        const some = await inlet.receive(5, stop.signal)
        got.push(...idsOf(some))
        await ackAll(inlet, some)
        if (got.length >= 40) all.resolve()
      }
    }
    const reading = Promise.all([reader(), reader(), reader()])
    await transport.publish(to.topic, events)
    await world.wait(world.patience, all.promise)
    await world.wait(100)
    stop.abort()
    await reading
    assert.deepEqual(sorted(got), sorted(events.map(({ id }) => id)))
  }),

  transportTrial('lag counts what waits, and not what is out or not yet due', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const waiting = async () => (await inlet.lag()).waiting
    await eventually(world, waiting, 0)
    assert.equal((await inlet.lag()).oldest, undefined)
    const before = world.now()
    await transport.publish(to.topic, makeEvents(world, 5))
    await eventually(world, waiting, 5)
    const { oldest } = await inlet.lag()
    if (oldest !== undefined) {
      assert.ok(oldest >= before - 1000 && oldest <= world.now(), `oldest lies ${oldest - before} ms on`)
    }
    const [first, second] = await take(world, inlet, 2)
    await eventually(world, waiting, 3)
    const parcel = failedOnce(world, first!.parcel, Math.min(20_000, transport.can.later))
    await settleAll(inlet, [
      { do: 'later', delivery: first!, parcel },
      { do: 'ack', delivery: second! },
    ])
    await eventually(world, waiting, 3)
    await ackAll(inlet, await take(world, inlet, 3))
    await eventually(world, waiting, 0)
  }),

  transportTrial(
    'except passes by the types it names, where the adapter can, and loses none',
    async (world) => {
      const { transport, to, inlet } = await subscribed(world)
      const events = ['a', 'b', 'a', 'b', 'c'].map((type) => makeEvent(world, { type }))
      await transport.publish(to.topic, events)
      const except = new Set(['a'])
      const got: Delivery[] = []
      if (transport.can.except) {
        while (got.length < 3) {
          const some = await takeSome(world, inlet, { max: 10, except })
          assert.ok(some.length > 0, `${got.length} of 3 came`)
          got.push(...some)
        }
        assert.deepEqual(sorted(got.map(({ parcel }) => parcel.event.type)), ['b', 'b', 'c'])
        assert.deepEqual(await takeSome(world, inlet, { max: 10, except, within: A_WHILE }), [])
      } else {
        got.push(...(await takeSome(world, inlet, { max: 10, except })))
      }
      const rest = await take(world, inlet, events.length - got.length)
      assert.deepEqual(sorted(idsOf([...got, ...rest])), sorted(events.map(({ id }) => id)))
    },
  ),
]
