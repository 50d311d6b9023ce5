import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { events, textual } from '../../../test/arbitraries.ts'
import { makeEvent } from '../../../test/rabbitmq/desk.ts'
import { freshTrail } from '../../core/trail.ts'
import type { Message, Properties } from './client.ts'
import { readMessage } from './read.ts'
import { type Outgoing, writeEvent, writeParcel } from './write.ts'

const to = { exchange: 'events', key: 'orders.placed' }
let minted = 0
const mint = () => `minted-${++minted}`
const from = { queue: 'mail.orders.*', topic: 'orders.*', mint }
const NOW = 1_790_000_000_000

const arrived = ({ body, options }: Outgoing, headers: Properties['headers'] = {}): Message =>
  message(body, { ...options, headers: { ...options.headers, ...headers } })

const message = (
  content: Buffer,
  properties: Properties,
  fields: Partial<Message['fields']> = {},
): Message => ({
  content,
  properties,
  fields: { deliveryTag: 1, redelivered: false, exchange: 'events', routingKey: 'orders.placed', ...fields },
})

const read = (each: Message) => readMessage(each, from, NOW)

/** What a queue that dead-letters and delivers again adds. */
const BROKERS = {
  'x-death': [{ count: 1, reason: 'expired', queue: 'reprieve.later.100' }],
  'x-first-death-exchange': 'reprieve.later.100',
  'x-first-death-queue': 'reprieve.later.100',
  'x-first-death-reason': 'expired',
  'x-last-death-reason': 'expired',
  'x-delivery-count': 2,
}

describe('an event on the wire', () => {
  it('comes back as it was sent, whatever it holds', () => {
    fc.assert(
      fc.property(events(), (event) => {
        const { parcel, redelivered, broken } = read(arrived(writeEvent(event, to)))
        expect(parcel).toEqual({ event: textual(event), trail: freshTrail, due: NOW })
        expect([redelivered, broken]).toEqual([false, undefined])
      }),
    )
  })

  it('is CloudEvents in binary mode, persistent and mandatory', () => {
    const event = makeEvent({ id: 'e-1', subject: 's', extensions: { correlationid: 'c' } })
    expect(writeEvent(event, to)).toEqual({
      ...to,
      body: Buffer.from('{"made":true}'),
      options: {
        mandatory: true,
        persistent: true,
        contentType: 'application/json',
        messageId: 'e-1',
        headers: {
          'cloudEvents:specversion': '1.0',
          'cloudEvents:id': 'e-1',
          'cloudEvents:source': '/rabbitmq/test',
          'cloudEvents:type': 'test.made',
          'cloudEvents:subject': 's',
          'cloudEvents:correlationid': 'c',
        },
      },
    })
  })

  it.each(['CC', 'BCC', 'x-death', 'x-delivery-count', 'x-reprieve-due', 'cloudEvents:id', 'cloudEvents_id'])(
    'a header named %s means nothing to the broker or to us, and arrives',
    (name) => {
      const event = makeEvent({ headers: { [name]: 'mine', plain: 'p' } })
      const written = writeEvent(event, to)
      if (!name.startsWith('cloudEvents')) expect(written.options.headers).not.toHaveProperty([name])
      expect(read(arrived(written)).parcel.event).toEqual(event)
    },
  )

  it('data that is itself a structured event stays data', () => {
    const event = makeEvent({
      datacontenttype: 'application/cloudevents+json',
      data: Buffer.from('{"id":"inner"}'),
    })
    expect(read(arrived(writeEvent(event, to))).parcel.event).toEqual(event)
  })

  it('an id or content type that no property can hold travels in a header', () => {
    const event = makeEvent({ id: 'ü'.repeat(200), datacontenttype: `text/plain; x=${'y'.repeat(300)}` })
    const { options } = writeEvent(event, to)
    expect([options.messageId, options.contentType]).toEqual([undefined, undefined])
    expect(read(arrived(writeEvent(event, to))).parcel.event).toEqual(event)
  })

  it('no data and empty data are two things', () => {
    for (const data of [null, Buffer.alloc(0)]) {
      expect(read(arrived(writeEvent(makeEvent({ data }), to))).parcel.event.data).toEqual(data)
    }
  })
})

describe('a parcel on the wire', () => {
  const parcel = {
    event: makeEvent({ id: 'e-1' }),
    trail: { ...freshTrail, spent: 2, generation: 1 },
    due: NOW + 5000,
  }

  it('brings its trail and its due time home, and nothing of what the broker added', () => {
    const written = writeParcel(parcel, to)
    expect(written.options.messageId).toBe('e-1#1.2')
    expect(read(arrived(written, BROKERS))).toEqual({ parcel, redelivered: true })
  })

  it('that an office sent back as someone else’s is a new life of it, and its own trail says more', () => {
    const headers = { 'x-replayed-letter': '01a1eb23-d87b-7000-9871-10e02f4f9a61', 'x-replay-attempt': '3' }
    const back = read(arrived(writeEvent(parcel.event, to), headers))
    expect(back.parcel.trail).toEqual({ ...freshTrail, generation: 3 })
    expect(read(arrived(writeParcel(parcel, to), headers)).parcel.trail).toEqual(parcel.trail)
    const odd = read(
      arrived(writeEvent(parcel.event, to), { 'x-replayed-letter': 'x', 'x-replay-attempt': '3' }),
    )
    expect(odd.parcel.trail).toEqual(freshTrail)
  })

  it('that is broken stays broken', () => {
    expect(read(arrived(writeParcel(parcel, to, 'it was no JSON'))).broken).toBe('it was no JSON')
  })
})

describe('a foreign message', () => {
  it('becomes an event with what is known of it', () => {
    const headers = {
      text: 'as it is',
      number: 7,
      flag: true,
      when: { '!': 'timestamp', value: 1_790_000_000 },
      table: { a: [1, 'b'] },
      bytes: Buffer.from('raw'),
      ...BROKERS,
    }
    const properties = {
      messageId: 'm-1',
      contentType: 'text/plain',
      correlationId: 'c-1',
      timestamp: 1_790_000_000,
    }
    expect(read(message(Buffer.from('hello'), { ...properties, headers })).parcel.event).toEqual({
      id: 'm-1',
      source: 'rabbitmq/events',
      type: 'orders.placed',
      time: '2026-09-21T14:13:20.000Z',
      datacontenttype: 'text/plain',
      extensions: { correlationid: 'c-1' },
      headers: {
        text: 'as it is',
        number: '7',
        flag: 'true',
        when: '2026-09-21T14:13:20.000Z',
        table: '{"a":[1,"b"]}',
        bytes: 'raw',
      },
      data: Buffer.from('hello'),
    })
  })

  it('without an id gets one of its own, though it is like another in every byte', () => {
    const id = () => read(message(Buffer.from('tick'), {})).parcel.event.id
    expect(id()).not.toBe(id())
  })

  it('that went straight to the queue is of the topic that the queue is for', () => {
    const direct = { exchange: '', routingKey: 'mail.orders' }
    const { parcel } = readMessage(
      message(Buffer.from('x'), {}, direct),
      { queue: 'mail.orders', topic: 'orders', mint },
      NOW,
    )
    expect(parcel.event).toMatchObject({ type: 'orders', source: 'rabbitmq/mail.orders' })
  })

  it('with a time that is none is read all the same', () => {
    expect(read(message(Buffer.from('x'), { timestamp: 2 ** 63 })).parcel.event.time).toBe(String(2 ** 63))
  })

  it('in structured mode, or with underscores, is CloudEvents', () => {
    const body = Buffer.from('{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"a":1}}')
    const structured = message(body, { contentType: 'application/cloudevents+json; charset=utf-8' })
    expect(read(structured).parcel.event).toMatchObject({ id: '1', type: 't', data: Buffer.from('{"a":1}') })
    const names = { specversion: '1.0', id: '2', source: '/s', type: 't' }
    const headers = Object.fromEntries(
      Object.entries(names).map(([name, value]) => [`cloudEvents_${name}`, value]),
    )
    expect(read(message(Buffer.alloc(0), { headers })).parcel.event).toMatchObject({ id: '2', data: null })
  })
})

describe('a message that claims to be CloudEvents and is not', () => {
  it.each([
    ['{"id"', { contentType: 'application/cloudevents+json' }, /not JSON/],
    ['[{}]', { contentType: 'application/cloudevents-batch+json' }, /batch\+json' can't be read/],
    ['raw', { headers: { 'cloudEvents:specversion': '0.3', 'cloudEvents:id': '1' } }, /version '0.3'/],
    ['raw', { headers: { 'cloudEvents:specversion': '1.0', 'cloudEvents:id': '1' } }, /'source' is missing/],
  ])('%s is handed over as broken, with its bytes and an id', (body, properties, why) => {
    const once = read(message(Buffer.from(body), properties))
    expect(once.broken).toMatch(why)
    expect(once.parcel.event).toMatchObject({ type: 'orders.placed', data: Buffer.from(body) })
    expect(once.parcel.event.id).toBeTruthy()
    expect(read(message(Buffer.from(body), { ...properties, messageId: 'm-1' })).parcel.event.id).toBe('m-1')
  })

  it('put off, it comes back with the same bytes, still broken', () => {
    const { parcel, broken } = read(
      message(Buffer.from('{"id"'), { contentType: 'application/cloudevents+json' }),
    )
    const again = read(arrived(writeParcel(parcel, to, broken)))
    expect(again.broken).toBe(broken)
    expect(again.parcel.event).toEqual(parcel.event)
  })
})
