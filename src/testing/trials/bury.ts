import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Receipt } from '../../core/letter.ts'
import { readLetter, readReceipt } from '../../core/letter-reading.ts'
import {
  ackAll,
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
import { burial, failedOnce, sameLetter } from './samples.ts'
import type { Trial } from './trial.ts'

export const buryTrials: readonly Trial[] = [
  transportTrial('a buried event lies at its destination, its letter reads back equal', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world, {
      subject: 'Žofie',
      extensions: { correlationid: 'c-9' },
      headers: { 'x-tenant': 'ann' },
    })
    await transport.publish(to.topic, [event])
    const delivery = await takeOne(world, inlet)
    await settleAll(inlet, [{ do: 'later', delivery, parcel: failedOnce(world, delivery.parcel, 0) }])
    const bury = burial(world, to, await takeOne(world, inlet))
    await settleAll(inlet, [bury])
    const office = await transport.collect(to.destinations[0]!)
    const found = await takeOne(world, office)
    sameLetter(readLetter(found.parcel.event), bury.letter)
    assert.equal(bury.letter.trail.spent, 2)
    await takeNone(world, inlet)
  }),

  transportTrial('a letter waits at its destination until someone collects it', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const bury = burial(world, to, await takeOne(world, inlet))
    await settleAll(inlet, [bury])
    await transport.close()
    const office = await (await world.open()).transport!.collect(to.destinations[0]!)
    sameLetter(readLetter((await takeOne(world, office)).parcel.event), bury.letter)
  }),

  transportTrial('each destination gets its own letters', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, makeEvents(world, 2))
    const [one, two] = await take(world, inlet, 2)
    await settleAll(inlet, [burial(world, to, one!, 0), burial(world, to, two!, 1)])
    for (const [at, delivery] of [
      [0, one!],
      [1, two!],
    ] as const) {
      const office = await transport.collect(to.destinations[at]!)
      const letter = readLetter((await takeOne(world, office)).parcel.event)
      assert.equal(letter?.event.id, delivery.parcel.event.id)
      await takeNone(world, office)
    }
  }),

  transportTrial('buried twice, as a crash before the ack would, it is the same letter', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world)
    await transport.publish(to.topic, [event])
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    await transport.publish(to.topic, [event])
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    const office = await transport.collect(to.destinations[0]!)
    const first = readLetter((await takeOne(world, office)).parcel.event)
    // A transport may keep one of the two, or both: the office tells them by the letter's id.
    const stop = new AbortController()
    const receiving = office.receive(1, stop.signal)
    await world.wait(500, receiving)
    stop.abort()
    for (const { parcel } of await receiving) assert.equal(readLetter(parcel.event)?.id, first?.id)
  }),

  transportTrial('two payloads, one id, two letters', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const { id } = makeEvent(world)
    await transport.publish(to.topic, makeEvents(world, 2, { id }))
    const burials = (await take(world, inlet, 2)).map((delivery) => burial(world, to, delivery))
    await settleAll(inlet, burials)
    const office = await transport.collect(to.destinations[0]!)
    const found = (await take(world, office, 2)).map(({ parcel }) => readLetter(parcel.event)!)
    assert.deepEqual(sorted(found.map((letter) => letter.id)), sorted(burials.map(({ letter }) => letter.id)))
    assert.notEqual(found[0]!.id, found[1]!.id)
    const payloads = found.map(({ event }) => Buffer.from(event.data!).toString())
    assert.deepEqual(sorted(payloads), ['{"n":0}', '{"n":1}'])
  }),

  transportTrial('a letter about 1 MB of data is carried whole', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const data = randomBytes(1024 * 1024)
    await transport.publish(to.topic, [
      makeEvent(world, { data, datacontenttype: 'application/octet-stream' }),
    ])
    const bury = burial(world, to, await takeOne(world, inlet))
    await settleAll(inlet, [bury])
    const office = await transport.collect(to.destinations[0]!)
    sameLetter(readLetter((await takeOne(world, office)).parcel.event), bury.letter)
  }),

  transportTrial('a collected letter is gone once it is acknowledged', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    const office = await transport.collect(to.destinations[0]!)
    await ackAll(office, [await takeOne(world, office)])
    await office.close()
    await transport.close()
    const fresh = (await world.open()).transport!
    await takeNone(world, await fresh.collect(to.destinations[0]!))
  }),

  transportTrial('a collected letter that was not acknowledged comes again', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    const bury = burial(world, to, await takeOne(world, inlet))
    await settleAll(inlet, [bury])
    const office = await transport.collect(to.destinations[0]!)
    await takeOne(world, office)
    await office.close()
    const again = await takeOne(world, await transport.collect(to.destinations[0]!))
    sameLetter(readLetter(again.parcel.event), bury.letter)
    assert.equal(again.redelivered, true)
  }),

  transportTrial('collecting where nothing is yet creates the destination, and waits', async (world) => {
    const destination = { name: `_${world.name('office')}.receipts` }
    const { transport, to, inlet } = await subscribed(world)
    const office = await transport.collect(destination)
    await takeNone(world, office, 100)
    await transport.publish(to.topic, [makeEvent(world)])
    const receipt: Receipt = {
      letter: 'letter-1',
      to: destination.name,
      outcome: 'done',
      at: world.now(),
      attempts: 2,
    }
    await settleAll(inlet, [{ do: 'ack', delivery: await takeOne(world, inlet), receipt }])
    const arrived = await takeOne(world, office)
    assert.deepEqual(readReceipt(arrived.parcel.event), receipt)
    await ackAll(office, [arrived])
    await takeNone(world, inlet)
  }),

  transportTrial('a buried event does not come back after a restart', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    await transport.publish(to.topic, [makeEvent(world)])
    await settleAll(inlet, [burial(world, to, await takeOne(world, inlet))])
    await transport.close()
    await takeNone(world, (await subscribedToo(world, to)).inlet)
  }),
]
