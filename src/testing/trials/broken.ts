import assert from 'node:assert/strict'
import { type Message, STRUCTURED_TYPE } from '../../core/cloudevents.ts'
import { readLetter } from '../../core/letter-reading.ts'
import { ackAll, makeEvent, settleAll, subscribed, take, takeNone, takeOne, transportTrial } from './kit.ts'
import { burial } from './samples.ts'
import type { Trial } from './trial.ts'

const needsRaw: Trial['needs'] = (_, world) =>
  world.raw ? undefined : 'nobody can write to it past the adapter'

const text = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('utf8')

/** A record that claims to be CloudEvents and is not must be seen, not looped and not dropped. */
const broken = (what: string, message: Message): Trial =>
  transportTrial(
    `${what} is handed over as broken, can be buried, and stops nobody`,
    async (world) => {
      const { transport, to, inlet } = await subscribed(world)
      await world.raw!.put(to, message)
      const delivery = await takeOne(world, inlet)
      assert.equal(typeof delivery.broken, 'string')
      assert.equal(text(delivery.parcel.event.data), text(message.body))
      assert.ok(delivery.parcel.event.id, 'it has no id')
      const good = makeEvent(world)
      await transport.publish(to.topic, [good])
      const next = await takeOne(world, inlet)
      assert.equal(next.parcel.event.id, good.id)
      const bury = burial(world, to, delivery)
      await settleAll(inlet, [bury, { do: 'ack', delivery: next }])
      const office = await transport.collect(to.destinations[0]!)
      const letter = readLetter((await takeOne(world, office)).parcel.event)
      assert.equal(letter?.id, bury.letter.id)
      assert.equal(text(letter?.event.data), text(message.body))
      await takeNone(world, inlet)
    },
    needsRaw,
  )

export const brokenTrials: readonly Trial[] = [
  broken('a structured event that is not JSON', {
    contentType: STRUCTURED_TYPE,
    headers: {},
    body: Buffer.from('{"specversion":"1.0", oops'),
  }),
  broken('an event of another version', {
    contentType: 'application/json',
    // Each binding has its own prefix; the other one's is a plain header.
    headers: { ce_specversion: '0.1', 'cloudEvents:specversion': '0.1' },
    body: Buffer.from('{"a":1}'),
  }),

  transportTrial(
    'a plain record of a foreign producer becomes an event, also when it comes again',
    async (world) => {
      const { to, inlet } = await subscribed(world)
      await world.raw!.put(to, {
        contentType: 'text/plain',
        headers: { 'x-made-by': 'someone else' },
        body: Buffer.from('hello'),
      })
      const delivery = await takeOne(world, inlet)
      const { event } = delivery.parcel
      assert.equal(delivery.broken, undefined)
      assert.equal(text(event.data), 'hello')
      assert.equal(event.datacontenttype, 'text/plain')
      assert.equal(event.headers['x-made-by'], 'someone else')
      assert.ok(event.id && event.source && event.type)
      await settleAll(inlet, [{ do: 'give back', delivery }])
      const again = await takeOne(world, inlet)
      assert.equal(text(again.parcel.event.data), 'hello')
      assert.equal(again.parcel.event.type, event.type)
      await ackAll(inlet, [again])
      await takeNone(world, inlet)
    },
    needsRaw,
  ),

  transportTrial(
    // One id for both would make dedup swallow the second: twice 'tick' means two ticks.
    'two plain records are two events, though they are alike in every byte',
    async (world) => {
      const { to, inlet } = await subscribed(world)
      for (const text of ['tick', 'tick']) {
        await world.raw!.put(to, { contentType: 'text/plain', headers: {}, body: Buffer.from(text) })
      }
      const [one, two] = await take(world, inlet, 2)
      assert.notEqual(one!.parcel.event.id, two!.parcel.event.id)
    },
    needsRaw,
  ),

  transportTrial(
    'a structured event is read like any other',
    async (world) => {
      const { to, inlet } = await subscribed(world)
      const body = { specversion: '1.0', id: 's-1', source: '/s', type: 'trial.structured', data: { a: 1 } }
      await world.raw!.put(to, {
        contentType: `${STRUCTURED_TYPE}; charset=utf-8`,
        headers: {},
        body: Buffer.from(JSON.stringify({ ...body, orderkey: 'k' })),
      })
      const { parcel, broken } = await takeOne(world, inlet)
      assert.equal(broken, undefined)
      assert.equal(parcel.event.id, 's-1')
      assert.equal(parcel.event.type, 'trial.structured')
      assert.equal(parcel.event.extensions.orderkey, 'k')
      assert.deepEqual(JSON.parse(text(parcel.event.data)), { a: 1 })
    },
    needsRaw,
  ),
]
