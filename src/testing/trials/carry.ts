import { randomBytes } from 'node:crypto'
import { STRUCTURED_TYPE } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'
import { makeEvent, subscribed, takeOne, transportTrial } from './kit.ts'
import { sameEvent } from './samples.ts'
import type { Trial } from './trial.ts'

const BYTES = 'application/octet-stream'

const carries = (what: string, over: () => Partial<Event>): Trial =>
  transportTrial(`carries ${what}`, async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world, over())
    await transport.publish(to.topic, [event])
    sameEvent((await takeOne(world, inlet)).parcel.event, event)
  })

const withoutType = (event: Event): Event => {
  const { datacontenttype: _, time: __, ...rest } = event
  return rest
}

export const carryTrials: readonly Trial[] = [
  carries('JSON byte for byte, spaces and all', () => ({ data: Buffer.from('{ "a" : 1.0,\n "b":[ ] }') })),
  carries('empty data', () => ({ data: new Uint8Array(0), datacontenttype: BYTES })),
  carries('the absence of data', () => ({ data: null })),
  carries('every byte value', () => ({
    data: Uint8Array.from({ length: 256 }, (_, n) => n),
    datacontenttype: BYTES,
  })),
  carries('1 MB of data', () => ({ data: randomBytes(1024 * 1024), datacontenttype: BYTES })),
  carries('any script in data, subject, attributes and headers', () => ({
    subject: 'Žluťoučký kůň 漢字 🐎',
    extensions: { correlationid: 'кириллица-🧵' },
    headers: { 'x-name': 'Ångström ✓' },
    data: Buffer.from('{"text":"日本語 🎏 ‮"}'),
  })),
  carries('content type, time, subject and schema as they were written', () => ({
    datacontenttype: 'application/vnd.todo.task+json; charset=utf-8',
    time: '2026-02-03T04:05:06.789123+02:00',
    subject: 'tasks/17',
    dataschema: 'https://example.org/schemas/task/3',
  })),
  carries('our extension attributes', () => ({
    extensions: {
      orderkey: 'customer-17',
      correlationid: '0197-c0ffee',
      priority: 'critical',
      expirytime: '2031-01-01T00:00:00Z',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
  })),
  carries('numbers and booleans among the attributes, at least as text', () => ({
    extensions: { sequence: 42, negative: -1, sampled: true, off: false },
  })),
  carries('headers', () => ({
    headers: { 'x-tenant': 'ann', 'X-Case': 'Kept', empty: '', 'with space': ' around ' },
  })),
  carries('headers named like those of a broker or of ours, and takes them for nothing else', () => ({
    headers: {
      'content-type': 'text/odd',
      ce_odd: '1',
      'cloudEvents:odd': '2',
      'x-death': '3',
      'reprieve-trail': '{"spent":3,"generation":0,"records":[]}',
      'x-reprieve-trail': '{"spent":3,"generation":0,"records":[]}',
    },
  })),
  carries('an event whose data is itself a CloudEvent', () => ({
    datacontenttype: STRUCTURED_TYPE,
    data: Buffer.from('{"specversion":"1.0","id":"inner","source":"/","type":"inner"}'),
  })),

  transportTrial('carries an event with nothing but the required attributes', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = withoutType(makeEvent(world, { data: null }))
    await transport.publish(to.topic, [event])
    sameEvent((await takeOne(world, inlet)).parcel.event, event)
  }),

  transportTrial('carries odd ids, types and sources', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world, {
      id: `${world.tools.dice.uuid()}/ä #1?`,
      type: 'Org.Example/Thing Made',
      source: 'urn:example:källa:1#a',
    })
    await transport.publish(to.topic, [event])
    sameEvent((await takeOne(world, inlet)).parcel.event, event)
  }),

  transportTrial('what the sender does to its bytes afterwards changes nothing', async (world) => {
    const { transport, to, inlet } = await subscribed(world)
    const event = makeEvent(world, { data: Buffer.from('"before"') })
    const sent = makeEvent(world, { ...event, data: Buffer.from('"before"') })
    await transport.publish(to.topic, [sent])
    sent.data!.fill(0)
    sameEvent((await takeOne(world, inlet)).parcel.event, event)
  }),
]
