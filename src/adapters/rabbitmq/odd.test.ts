import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { burial, deskAt, take, takeOne } from '../../../test/rabbitmq/desk.ts'
import { sendNested } from '../../../test/rabbitmq/nested.ts'
import { describeWith } from '../../../test/services/urls.ts'
import { bytesOf } from '../../core/binary-text.ts'
import type { Failure } from '../../core/failure.ts'
import { extendTrail } from '../../core/trail.ts'
import type { Message, Properties } from './client.ts'
import { parcelTo } from './copies.ts'
import { queueOf } from './names.ts'
import { readMessage } from './read.ts'
import type { Outgoing } from './write.ts'

const NOW = 1_790_000_000_000
const from = { queue: 'q', topic: 't', mint: () => 'minted' }

const message = (headers: Record<string, unknown>, more: Properties = {}, body = '{}'): Message => ({
  content: Buffer.from(body),
  properties: { messageId: 'm', ...more, headers },
  fields: { deliveryTag: 1, redelivered: false, exchange: 'e', routingKey: 'k' },
})

// what the client writes is not shown by its own door
const defs = fileURLToPath(new URL('../../../node_modules/amqplib/lib/defs.js', import.meta.url))
const amqp = createRequire(import.meta.url)(defs) as {
  BasicProperties: number
  encodeProperties(id: number, channel: number, size: number, fields: object): Buffer
}
const encoded = ({ body, options }: Outgoing): Buffer =>
  amqp.encodeProperties(amqp.BasicProperties, 1, body.length, { ...options })

const failure: Failure = {
  category: 'transient',
  kind: 'timeout',
  name: 'E'.repeat(100),
  message: 'y'.repeat(600),
  because: '',
}

/** The copy after so many failures, as it would go out. */
const retried = (each: Message, times: number): Outgoing => {
  const { parcel, broken } = readMessage(each, from, NOW)
  let { trail } = parcel
  for (let n = 0; n < times; n++) trail = extendTrail(trail, failure, NOW + n)
  return parcelTo('q', { ...parcel, trail, due: NOW + 1000 }, NOW, broken)
}

const NAMES = [
  ...['type', 'trail', 'due', 'broken', 'data', 'header-x', 'header-CC'].map((name) => `x-reprieve-${name}`),
  ...['specversion', 'id', 'source', 'type', 'time', 'subject', 'dataschema', 'datacontenttype', 'x'].flatMap(
    (name) => [`cloudEvents:${name}`, `cloudEvents_${name}`],
  ),
  ...['x-death', 'x-delivery-count', 'plain', 'constructor', '__proto__'],
]
const typed = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  fc.double().map((value) => ({ '!': 'timestamp', value })),
  fc.jsonValue(),
  // a table can have names that would be methods elsewhere
  fc.constant({ toString: 1, valueOf: 2, toJSON: 3 }),
)
const whole = {
  'cloudEvents:specversion': '1.0',
  'cloudEvents:id': '1',
  'cloudEvents:source': 's',
  'cloudEvents:type': 't',
}
const contentType = fc.constantFrom(undefined, 'application/json', 'application/cloudevents+json')
const bodies = fc.constantFrom(
  '',
  'x',
  '{"specversion":"1.0","id":"1","type":"t","source":"s","data":{"a":1}}',
)

describe('a message with headers named like ours', () => {
  it('is read whatever their values are, as text where an event has text, and can travel on', () => {
    const drawn = fc.tuple(fc.dictionary(fc.constantFrom(...NAMES), typed), fc.boolean(), contentType, bodies)
    fc.assert(
      fc.property(drawn, ([drawnHeaders, claims, type, body]) => {
        const headers = claims ? { ...whole, ...drawnHeaders } : drawnHeaders
        const each = message(headers, type === undefined ? {} : { contentType: type }, body)
        const { parcel, broken } = readMessage(each, from, NOW)
        const { event } = parcel
        expect(['string', 'undefined']).toContain(typeof broken)
        expect(parcel.due).toBeGreaterThan(0)
        for (const name of ['id', 'source', 'type'] as const) expect(event[name]).toEqual(expect.any(String))
        for (const name of ['subject', 'time', 'dataschema', 'datacontenttype'] as const)
          expect(['string', 'undefined']).toContain(typeof event[name])
        for (const value of Object.values(event.headers)) expect(value).toEqual(expect.any(String))
        expect(encoded(retried(each, 1)).length).toBeGreaterThan(0)
      }),
    )
  })

  it.each([
    ['x-reprieve-type', 5],
    ['x-reprieve-broken', 5],
    ['x-reprieve-trail', { toString: 1 }],
    ['x-reprieve-due', { valueOf: 1 }],
    ['x-delivery-count', { valueOf: 1, toString: 1 }],
  ])('is not misled by %s: %j', (name, value) => {
    const { parcel, broken } = readMessage(message({ [name]: value }), from, NOW)
    expect(broken).toBeUndefined()
    expect(parcel).toMatchObject({ due: NOW, trail: { spent: 0 }, event: { id: 'm', type: 'k' } })
  })
})

it('a header of bytes is text where it is, and else shown whole', () => {
  const bytes = Buffer.from([0, 255, 254])
  const { parcel } = readMessage(message({ name: Buffer.from('Zoë'), hash: bytes }), from, NOW)
  const { name, hash } = parcel.event.headers
  expect(name).toBe('Zoë')
  expect(bytesOf(hash!)).toEqual(bytes)
})

it('a message that can not be read at all is handed over as broken, with its bytes', () => {
  let deep: unknown = 1
  for (let n = 0; n < 200_000; n++) deep = [deep]
  const { parcel, broken } = readMessage(message({ deep }), from, NOW)
  expect(broken).toMatch(/can't be read/)
  expect(parcel.event).toMatchObject({ id: 'm', type: 'k', data: Buffer.from('{}') })
})

describe('a message whose headers are too large to travel with a copy', () => {
  const structured = (over: object) =>
    message(
      {},
      { contentType: 'application/cloudevents+json' },
      JSON.stringify({ specversion: '1.0', id: '1', source: 's', type: 't', ...over }),
    )

  it.each([
    ['one large header', message({ big: 'x'.repeat(70_000) })],
    ['many headers', message(Object.fromEntries(Array.from({ length: 9000 }, (_, n) => [`h${n}`, 'v'])))],
    ['an attribute of CloudEvents', message({ ...whole, 'cloudEvents:id': 'ü'.repeat(30_000) })],
    ['an attribute in the body', structured({ subject: 's'.repeat(70_000) })],
    ['an attribute with a name too long', structured({ ['n'.repeat(250)]: 'v' })],
    ['a header with a name too long', message({ [`cloudEvents_${'n'.repeat(240)}`]: 'v' })],
    ['a content type of ours', message({ 'x-reprieve-type': 'x'.repeat(70_000) })],
  ])('is broken, with its bytes: %s', (_, each) => {
    const { parcel, broken } = readMessage(each, from, NOW)
    expect(broken).toMatch(/can('t)? travel/)
    expect(broken!.length).toBeLessThan(300)
    expect(parcel.event).toMatchObject({ id: 'm', type: 'k', data: each.content })
  })

  it('is whole up to the bound, and then every copy of it can be sent, with the longest trail', () => {
    for (const size of [30_000, 45_000, 49_000]) {
      const each = message({ big: 'x'.repeat(size) })
      expect(readMessage(each, from, NOW).broken).toBeUndefined()
      expect(encoded(retried(each, 40)).length).toBeGreaterThan(size)
    }
  })

  it('a trail or a reason that nobody of us wrote so long is left out or cut', () => {
    const record = {
      attempt: 1,
      at: 1,
      category: 'transient',
      kind: 'timeout',
      name: 'E',
      error: 'x'.repeat(60_000),
    }
    const trail = JSON.stringify({ spent: 1, generation: 0, counts: {}, records: [record] })
    const headers = {
      'x-reprieve-trail': trail,
      'x-reprieve-broken': 'b'.repeat(60_000),
      big: 'x'.repeat(40_000),
    }
    expect(encoded(retried(message(headers), 2)).length).toBeLessThan(65_536)
  })
})

describeWith('amqp', 'poison on RabbitMQ', (url) => {
  const desk = deskAt(url)
  const poison = { 'x-reprieve-type': 5, 'x-reprieve-broken': 5, 'x-reprieve-trail': { toString: 1 } }
  const send = async (queue: string, headers: object) => {
    const channel = await desk.channel()
    for (const [id, its] of [
      ['before', {}],
      ['odd', headers],
      ['after', {}],
    ] as const)
      channel.sendToQueue(queue, Buffer.from('{}'), { messageId: id, headers: its })
  }

  it.each([
    ['headers of ours with other types', poison, undefined],
    ['headers too large to travel', { big: 'x'.repeat(60_000) }, /can travel/],
  ])('%s: its neighbours arrive with it, and all can be settled', async (_, headers, why) => {
    const to = desk.subscription()
    const transport = await desk.transport()
    const inlet = await transport.subscribe(to)
    await send(queueOf(to), headers)
    const got = await take(inlet, 3, 10_000)
    expect(got.map(({ parcel }) => parcel.event.id)).toEqual(['before', 'odd', 'after'])
    if (why) expect(got[1]!.broken).toMatch(why)
    expect(await inlet.settle(got.map((delivery) => ({ do: 'ack', delivery })))).toEqual([
      'done',
      'done',
      'done',
    ])
  })

  it('headers nested deeper than the client reads: it is broken, its neighbours arrive with it, and no connection is lost', async () => {
    const to = desk.subscription()
    const transport = await desk.transport()
    const inlet = await transport.subscribe(to)
    const channel = await desk.channel()
    channel.sendToQueue(queueOf(to), Buffer.from('{}'), { messageId: 'before' })
    sendNested(channel, queueOf(to), 'odd', 8000)
    channel.sendToQueue(queueOf(to), Buffer.from('{}'), { messageId: 'after' })
    const got = await take(inlet, 3)
    expect(got.map(({ parcel, broken }) => [parcel.event.id, broken])).toEqual([
      ['before', undefined],
      ['odd', expect.stringMatching(/headers can't be read: Maximum call stack/)],
      ['after', undefined],
    ])
    expect(await inlet.settle([burial(got[1]!, to), { do: 'ack', delivery: got[2]! }])).toEqual([
      'done',
      'done',
    ])
    expect(desk.facts).toEqual([])
    await inlet.close()
    const again = await takeOne(await transport.subscribe(to))
    expect(again.parcel.event.id).toBe('before')
  })

  it('an office takes it as a found letter, and its neighbours too', async () => {
    const queue = desk.queue('foreign')
    await (await desk.channel()).assertQueue(queue)
    await send(queue, poison)
    const office = await (await desk.transport()).collect({ name: queue, foreign: true })
    const got = await take(office, 3, 10_000)
    expect(got.map(({ found }) => found?.eventId)).toEqual(['before', 'odd', 'after'])
  })
})
