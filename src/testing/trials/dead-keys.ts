import assert from 'node:assert/strict'
import type { Delivery, Settlement, Transport } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import { freshParcel, type Parcel } from '../../core/parcel.ts'
import { freshTrail } from '../../core/trail.ts'
import { ackAll, type Desk, settleAll, subscribed, subscribedToo, takeNone, takeOne } from './kit.ts'
import { keyed, keyTrial } from './order.ts'
import { burial, failedOnce } from './samples.ts'
import type { Trial, TrialWorld } from './trial.ts'

type Burial = Extract<Settlement, { do: 'bury' }>

const dies = async (world: TrialWorld, { to, inlet }: Desk, delivery: Delivery): Promise<Burial> => {
  const bury: Burial = { ...burial(world, to, delivery), holds: true }
  await settleAll(inlet, [bury])
  return bury
}

const replayOf = (world: TrialWorld, { letter }: Burial): Parcel => {
  const attempt = letter.trail.generation + 1
  const replay = { letter: letter.id, attempt, receiptTo: 'nobody' }
  return { event: letter.event, trail: { ...freshTrail, generation: attempt, replay }, due: world.now() }
}

const keyOf = ({ letter }: Burial) => ({
  orderKey: String(letter.event.extensions.orderkey),
  letter: letter.id,
})

const behind = async (transport: Transport, { to }: Desk, bury: Burial): Promise<number | undefined> =>
  (await transport.behind?.(to, [keyOf(bury)]))?.[0]

/** A key with these events, of which the first is dead and holds the others; and a neighbour that is not held. */
const withDeadHead = async (world: TrialWorld, followers: number) => {
  const desk = await subscribed(world, { order: 'key' })
  const { transport, to, inlet } = desk
  const events = keyed(world, 'a', followers + 1)
  await transport.publish(to.topic, events)
  const bury = await dies(world, desk, await takeOne(world, inlet))
  return { desk, transport, to, inlet, bury, events, ids: events.map(({ id }) => id) }
}

const oneByOne = async (world: TrialWorld, { inlet }: Desk, count: number): Promise<readonly string[]> => {
  const got: string[] = []
  while (got.length < count) {
    const delivery = await takeOne(world, inlet)
    await takeNone(world, inlet, 20)
    got.push(delivery.parcel.event.id)
    await ackAll(inlet, [delivery])
  }
  return got
}

/** Followers behind a dead letter that holds its key. */
export const deadKeyTrials: readonly Trial[] = [
  keyTrial(
    'a dead head that holds its key: followers wait, other keys go on, and both are counted',
    async (world) => {
      const { desk, transport, to, inlet, bury } = await withDeadHead(world, 2)
      const [b1] = keyed(world, 'b', 1)
      const [a4] = keyed(world, 'a', 1)
      await transport.publish(to.topic, [a4!, b1!])
      assert.equal((await takeOne(world, inlet)).parcel.event.id, b1!.id)
      await takeNone(world, inlet)
      assert.equal(await behind(transport, desk, bury), 3)
      assert.deepEqual(await inlet.lag(), { waiting: 0, held: 3 })
      const office = await transport.collect(to.destinations[0]!)
      assert.equal((await takeOne(world, office)).parcel.event.id, bury.letter.id)
    },
  ),

  keyTrial('a key stays held when all connections are closed and opened again', async (world) => {
    const { transport, to, bury, ids } = await withDeadHead(world, 2)
    await transport.close()
    const desk = await subscribedToo(world, to)
    await takeNone(world, desk.inlet)
    assert.equal(await behind(desk.transport, desk, bury), 2)
    await desk.transport.forward(to, [replayOf(world, bury)])
    assert.deepEqual(await oneByOne(world, desk, 3), ids)
  }),

  keyTrial(
    'the replay of the dead goes before its followers, and its good end frees them in order',
    async (world) => {
      const { desk, transport, to, inlet, bury, ids } = await withDeadHead(world, 3)
      await transport.forward(to, [replayOf(world, bury)])
      const again = await takeOne(world, inlet)
      assert.equal(again.parcel.event.id, ids[0])
      assert.equal(again.parcel.trail.replay?.letter, bury.letter.id)
      await takeNone(world, inlet)
      const parcel = failedOnce(world, again.parcel, 500)
      await settleAll(inlet, [{ do: 'later', delivery: again, parcel }])
      await takeNone(world, inlet, 100)
      assert.deepEqual(await oneByOne(world, desk, 4), ids)
      assert.deepEqual(await inlet.lag(), { waiting: 0 })
    },
  ),

  keyTrial('a replay that dies again holds the key behind its new letter', async (world) => {
    const { desk, transport, to, inlet, bury, ids } = await withDeadHead(world, 2)
    await transport.forward(to, [replayOf(world, bury)])
    const second = await dies(world, desk, await takeOne(world, inlet))
    assert.notEqual(second.letter.id, bury.letter.id)
    await takeNone(world, inlet)
    assert.equal(await behind(transport, desk, bury), 0)
    assert.equal(await behind(transport, desk, second), 2)
    await transport.release?.(to, [keyOf(bury)])
    await takeNone(world, inlet)
    await transport.forward(to, [replayOf(world, second)])
    assert.deepEqual(await oneByOne(world, desk, 3), ids)
  }),

  keyTrial('release frees the followers in order, and once more changes nothing', async (world) => {
    const { desk, transport, to, inlet, bury, ids } = await withDeadHead(world, 3)
    await transport.release?.(to, [
      { orderKey: 'b', letter: bury.letter.id },
      { orderKey: 'a', letter: 'another' },
    ])
    await takeNone(world, inlet)
    await transport.release?.(to, [keyOf(bury)])
    const next = await takeOne(world, inlet)
    await transport.release?.(to, [keyOf(bury)])
    await takeNone(world, inlet)
    await ackAll(inlet, [next])
    assert.equal(next.parcel.event.id, ids[1])
    assert.deepEqual(await oneByOne(world, desk, 2), ids.slice(2))
    assert.equal(await behind(transport, desk, bury), 0)
  }),

  keyTrial('a burial by whoever lost the delivery holds nothing', async (world) => {
    const desk = await subscribed(world, { order: 'key' })
    const [a1, a2] = keyed(world, 'a', 2)
    await desk.transport.publish(desk.to.topic, [a1!, a2!])
    const late = await takeOne(world, desk.inlet)
    await settleAll(desk.inlet, [{ do: 'give back', delivery: late }])
    const bury: Burial = { ...burial(world, desk.to, late), holds: true }
    assert.deepEqual(await desk.inlet.settle([bury]), ['lost'])
    assert.equal(await behind(desk.transport, desk, bury), 0)
    assert.deepEqual(await oneByOne(world, desk, 2), [a1!.id, a2!.id])
  }),

  keyTrial('an event without an order key holds nobody, though it is told to', async (world) => {
    const desk = await subscribed(world, { order: 'key' })
    const [a1] = keyed(world, 'a', 1)
    const loose: Event = { ...a1!, id: `${a1!.id}-loose`, extensions: {} }
    await desk.transport.publish(desk.to.topic, [loose])
    await dies(world, desk, await takeOne(world, desk.inlet))
    await desk.transport.publish(desk.to.topic, [a1!])
    assert.deepEqual(await oneByOne(world, desk, 1), [a1!.id])
  }),

  keyTrial(
    'what is forwarded twice stands in line once, and does not go back behind later ones',
    async (world) => {
      const desk = await subscribed(world, { order: 'key' })
      const { transport, to, inlet } = desk
      const events = keyed(world, 'a', 4)
      const parcels = events.map((event) => freshParcel(event, world.now()))
      await transport.forward(to, parcels.slice(0, 3))
      const head = await takeOne(world, inlet)
      await transport.forward(to, parcels)
      await ackAll(inlet, [head])
      const second = await dies(world, desk, await takeOne(world, inlet))
      await transport.forward(to, parcels.slice(1, 3))
      await takeNone(world, inlet)
      assert.equal(await behind(transport, desk, second), 2)
      const replay = replayOf(world, second)
      await transport.forward(to, [replay])
      await transport.forward(to, [replay])
      assert.deepEqual(
        await oneByOne(world, desk, 3),
        events.slice(1).map(({ id }) => id),
      )
      await takeNone(world, inlet)
    },
  ),

  keyTrial(
    'the same id with other data, or another correlation id, is not taken for the one in line',
    async (world) => {
      const { transport, to, inlet } = await subscribed(world, { order: 'key' })
      const [one] = keyed(world, 'a', 1)
      const other: Event = { ...one!, data: Buffer.from('{"other":true}') }
      const related: Event = { ...one!, extensions: { ...one!.extensions, correlationid: 'c-2' } }
      const parcels = [one!, other, related, related].map((event) => freshParcel(event, world.now()))
      await transport.forward(to, parcels)
      const came: Event[] = []
      for (let n = 0; n < 3; n++) {
        const delivery = await takeOne(world, inlet)
        came.push(delivery.parcel.event)
        await ackAll(inlet, [delivery])
      }
      assert.deepEqual(
        came.map(({ id, data, extensions }) => [id, Buffer.from(data!).toString(), extensions.correlationid]),
        [one!, other, related].map(({ id, data, extensions }) => [
          id,
          Buffer.from(data!).toString(),
          extensions.correlationid,
        ]),
      )
      await takeNone(world, inlet)
    },
  ),
]
