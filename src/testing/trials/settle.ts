import assert from 'node:assert/strict'
import type { Settled } from '../../contracts/transport.ts'
import { readLetter } from '../../core/letter-reading.ts'
import {
  ackAll,
  idsOf,
  makeEvent,
  makeEvents,
  settleAll,
  sorted,
  subscribed,
  subscribedToo,
  take,
  takeNone,
  takeOne,
  transportTrial,
} from './kit.ts'
import { burial, failedOnce, sameEvent } from './samples.ts'
import { notLater } from './too-late.ts'
import type { Trial } from './trial.ts'

/** It says nothing of when it was buried, and a letter can't be written without that. */
const unwritable = (...of: Parameters<typeof burial>): ReturnType<typeof burial> => {
  const settlement = burial(...of)
  return { ...settlement, letter: { ...settlement.letter, buriedAt: Number.NaN } }
}

const inWords = (answer: Settled): string => (answer instanceof Error ? 'error' : answer)

export const settleTrials: readonly Trial[] = [
  transportTrial('ack: it is over, for later readers too', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    await ackAll(inlet, [await takeOne(world, inlet)])
    await takeNone(world, inlet)
    await transport.close()
    await takeNone(world, (await subscribedToo(world, to)).inlet)
  }),

  transportTrial('give back: it comes again at once, unchanged, marked as redelivered', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const first = await takeOne(world, inlet)
    assert.equal(first.redelivered, false)
    const before = world.now()
    await settleAll(inlet, [{ do: 'give back', delivery: first }])
    const second = await takeOne(world, inlet)
    notLater(world.now() - before, 1000 + world.slack, `it took ${world.now() - before} ms`)
    sameEvent(second.parcel.event, event)
    assert.deepEqual(second.parcel.trail, first.parcel.trail)
    assert.equal(second.redelivered, true)
    await ackAll(inlet, [second])
    await takeNone(world, inlet)
  }),

  transportTrial('give back many times: none is lost on the way', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const events = makeEvents(world, 3)
    await transport.publish(to.topic, events)
    // More often than any broker's own limit of deliveries.
    for (let round = 0; round < 25; round++) {
      const got = await take(world, inlet, 3)
      await settleAll(
        inlet,
        got.map((delivery) => ({ do: 'give back', delivery })),
      )
    }
    assert.deepEqual(sorted(idsOf(await take(world, inlet, 3))), sorted(events.map(({ id }) => id)))
  }),

  transportTrial('settled twice: the second is lost and changes nothing', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    const office = await transport.collect(to.destinations[0]!)
    await ackAll(inlet, [delivery])
    const parcel = failedOnce(world, delivery.parcel, 0)
    for (const again of [
      { do: 'ack', delivery },
      { do: 'later', delivery, parcel },
      { do: 'give back', delivery },
      burial(world, to, delivery),
    ] as const) {
      assert.deepEqual(await inlet.settle([again]), ['lost'], again.do)
    }
    await takeNone(world, inlet)
    await takeNone(world, office)
  }),

  transportTrial('named twice in one batch: the first counts', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const delivery = await takeOne(world, inlet)
    const batch = [
      { do: 'ack', delivery },
      { do: 'give back', delivery },
    ] as const
    assert.deepEqual(await inlet.settle(batch), ['done', 'lost'])
    await takeNone(world, inlet)
  }),

  transportTrial('settled after the inlet closed: lost, and it comes again', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const delivery = await takeOne(world, inlet)
    await inlet.close()
    assert.deepEqual(await inlet.settle([{ do: 'ack', delivery }]), ['lost'])
    const again = await takeOne(world, await transport.subscribe(to))
    assert.equal(again.parcel.event.id, event.id)
    assert.equal(again.redelivered, true)
  }),

  transportTrial('settled after the transport closed: lost, and it comes again', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    const delivery = await takeOne(world, inlet)
    await transport.close()
    assert.deepEqual(await inlet.settle([{ do: 'ack', delivery }]), ['lost'])
    const back = await subscribedToo(world, to)
    assert.equal((await takeOne(world, back.inlet)).parcel.event.id, event.id)
  }),

  transportTrial('a mixed batch is answered one by one, in order', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, makeEvents(world, 5))
    const [acked, put, buried, given, twice] = await take(world, inlet, 5)
    const office = await transport.collect(to.destinations[0]!)
    await ackAll(inlet, [twice!])
    const parcel = failedOnce(world, put!.parcel, 0)
    const answers = await inlet.settle([
      { do: 'ack', delivery: acked! },
      { do: 'ack', delivery: twice! },
      { do: 'later', delivery: put!, parcel },
      burial(world, to, buried!),
      { do: 'give back', delivery: given! },
    ])
    assert.deepEqual(answers, ['done', 'lost', 'done', 'done', 'done'])
    const back = await take(world, inlet, 2)
    assert.deepEqual(sorted(idsOf(back)), sorted(idsOf([put!, given!])))
    const letter = readLetter((await takeOne(world, office)).parcel.event)
    assert.equal(letter?.event.id, buried!.parcel.event.id)
    await takeNone(world, inlet)
  }),

  transportTrial('one of a batch that can not be written fails alone, and changes nothing', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, makeEvents(world, 7))
    const [acked, bad, put, timeless, buried, left, given] = await take(world, inlet, 7)
    const office = await transport.collect(to.destinations[0]!)
    const answers = await inlet.settle([
      { do: 'ack', delivery: acked! },
      unwritable(world, to, bad!),
      { do: 'later', delivery: put!, parcel: failedOnce(world, put!.parcel, 0) },
      { do: 'later', delivery: timeless!, parcel: failedOnce(world, timeless!.parcel, Number.NaN) },
      burial(world, to, buried!),
      unwritable(world, to, left!),
      { do: 'give back', delivery: given! },
    ])
    const inPlace = ['done', 'error', 'done', 'error', 'done', 'error', 'done']
    assert.deepEqual(answers.map(inWords), inPlace)
    const back = await take(world, inlet, 2)
    assert.deepEqual(sorted(idsOf(back)), sorted(idsOf([put!, given!])))
    await ackAll(inlet, [...back, timeless!])
    await settleAll(inlet, [burial(world, to, bad!)])
    const letters = (await take(world, office, 2)).map(({ parcel }) => readLetter(parcel.event)!.event.id)
    assert.deepEqual(sorted(letters), sorted(idsOf([buried!, bad!])))
    await takeNone(world, office)
    await transport.close()
    const { inlet: next } = await subscribedToo(world, to)
    const again = await takeOne(world, next)
    assert.deepEqual(idsOf([again]), idsOf([left!]))
    await ackAll(next, [again])
    await takeNone(world, next)
  }),

  transportTrial(
    'a destination that can not be had fails its burial alone; else it is made',
    async (world) => {
      const { transport, to, inlet } = await subscribed(world)
      await transport.publish(to.topic, makeEvents(world, 4))
      const [acked, stray, put, buried] = await take(world, inlet, 4)
      // no broker has such a name, and databases have any
      const nowhere = world.name('no such place, nor ever was')
      const [first, answer, ...rest] = await inlet.settle([
        { do: 'ack', delivery: acked! },
        { ...burial(world, to, stray!), to: nowhere },
        { do: 'later', delivery: put!, parcel: failedOnce(world, put!.parcel, 0) },
        burial(world, to, buried!),
      ])
      assert.deepEqual([first, ...rest], ['done', 'done', 'done'])
      const office = await transport.collect(to.destinations[0]!)
      if (answer === 'done') {
        const there = await takeOne(world, await transport.collect({ name: nowhere }))
        assert.equal(readLetter(there.parcel.event)?.event.id, stray!.parcel.event.id)
      } else {
        assert.ok(answer instanceof Error, `it is ${answer}`)
        await settleAll(inlet, [burial(world, to, stray!)])
      }
      const lie = answer === 'done' ? [buried!] : [buried!, stray!]
      const letters = await take(world, office, lie.length)
      assert.deepEqual(
        sorted(letters.map((each) => readLetter(each.parcel.event)!.event.id)),
        sorted(idsOf(lie)),
      )
      const back = await takeOne(world, inlet)
      assert.deepEqual(idsOf([back]), idsOf([put!]))
      await ackAll(inlet, [back])
      await takeNone(world, inlet)
      await takeNone(world, office)
    },
  ),

  transportTrial('200 acks at once', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, makeEvents(world, 200))
    await ackAll(inlet, await take(world, inlet, 200))
    await takeNone(world, inlet)
    await transport.close()
    await takeNone(world, (await subscribedToo(world, to)).inlet)
  }),

  transportTrial('settling nothing is fine', async (world) => {
    const { inlet } = await subscribed(world)
    assert.deepEqual(await inlet.settle([]), [])
  }),

  transportTrial('settled in any order, all are settled', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, makeEvents(world, 12))
    const got = await take(world, inlet, 12)
    for (const at of [11, 0, 5, 10, 1, 6, 9, 2, 7, 8, 3, 4]) await ackAll(inlet, [got[at]!])
    await transport.close()
    await takeNone(world, (await subscribedToo(world, to)).inlet)
  }),

  transportTrial('one left unsettled comes back, though later ones were settled', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, makeEvents(world, 10))
    const [left, ...others] = await take(world, inlet, 10)
    await ackAll(inlet, others)
    await transport.close()
    const { inlet: back } = await subscribedToo(world, to)
    // A log counts up to the first gap: it may hand over the others again, and must say so.
    for (;;) {
      const again = await takeOne(world, back)
      await ackAll(back, [again])
      if (again.parcel.event.id === left!.parcel.event.id) break
      assert.equal(again.redelivered, true)
    }
  }),
]
