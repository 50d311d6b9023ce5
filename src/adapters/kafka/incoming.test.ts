import { createRecordsBatch, type MessageRecord } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../core/event.ts'
import { extendTrail, freshTrail } from '../../core/trail.ts'
import { eachRecord, keyOf, type RawRecord, readBatches } from './batches.ts'
import { orderedByKey, readRecord } from './incoming.ts'
import { asMessage, eventRecord, type Outgoing, parcelRecord } from './outgoing.ts'

const place = { topic: 'orders', partition: 2, parcels: false }
const parcels = { ...place, parcels: true }

const sent = (outgoing: Outgoing): RawRecord => {
  const message = asMessage(outgoing) as MessageRecord
  let found: RawRecord | undefined
  const [batch] = readBatches(createRecordsBatch([message]).buffer, () => Buffer.alloc(0))
  eachRecord(batch!, (_offset, _timestamp, record) => {
    found = record
  })
  return found!
}

const event: Event = {
  id: 'e-1',
  source: '/shop',
  type: 'order.placed',
  extensions: { orderkey: 'ann' },
  headers: { 'x-tenant': 'a' },
  data: Buffer.from('{}'),
  datacontenttype: 'application/json',
}

describe('records in and out', () => {
  it('bring back the event, and its order key as the key', () => {
    const record = sent(eventRecord('orders', event))
    expect(readRecord(record, place, 7)).toEqual({ event, trail: freshTrail })
    expect(keyOf(record)?.toString()).toBe('ann')
  })

  it('take an extension of any name for nothing but that', () => {
    const extensions = { id: 'another', specversion: '2.0', constructor: 'c', orderkey: 'ann' }
    const odd = { ...event, extensions } as unknown as Event
    const read = readRecord(sent(eventRecord('orders', odd)), place, 0).event
    expect(read.id).toBe('e-1')
    expect(read.extensions).toEqual({ constructor: 'c', orderkey: 'ann' })
  })

  it('tell no data from empty data', () => {
    for (const data of [null, Buffer.alloc(0)]) {
      expect(readRecord(sent(eventRecord('orders', { ...event, data })), place, 0).event.data).toEqual(data)
    }
  })

  it('carry the trail beside the event, out of its sight', () => {
    const failure = { category: 'unknown', kind: 'handler', name: 'E', message: 'm', because: 'b' } as const
    const trail = extendTrail(freshTrail, failure, 5)
    const record = sent(parcelRecord('g.retry.1s', 'orders', { event, trail, due: 99 }))
    expect(readRecord(record, parcels, 0)).toEqual({ event, trail })
  })

  it('keep the key of a record that has no order key', () => {
    const { orderkey: _, ...extensions } = event.extensions
    const parcel = { event: { ...event, extensions }, trail: freshTrail, due: 0 }
    const record = sent(parcelRecord('g.retry.1s', 'orders', parcel, Buffer.from('theirs')))
    expect(keyOf(record)?.toString()).toBe('theirs')
  })

  it('tell the key that somebody else gave them, bytes too, and keep it on their way', () => {
    const { orderkey: _, ...extensions } = event.extensions
    const plain = { ...event, extensions, data: null }
    for (const [key, told] of [
      [Buffer.from('theirs'), 'theirs'],
      [Buffer.from([0, 0, 1, 0xff, 0xfe, 0xfd]), 'data:application/octet-stream;base64,AAAB//79'],
    ] as const) {
      const record = sent({ ...eventRecord('orders', plain), key })
      const read = readRecord(record, place, 0).event
      expect(read.extensions).toEqual({ ...extensions, partitionkey: told })
      const ordered = orderedByKey(read, record)
      expect(ordered.extensions.orderkey).toBe(told)
      for (const each of [read, ordered]) {
        const copy = sent(parcelRecord('g.retry.1s', 'orders', { event: each, trail: freshTrail, due: 0 }))
        expect(keyOf(copy)).toEqual(key)
        expect(readRecord(copy, parcels, 0).event).toEqual(each)
      }
    }
  })

  it('have the order key that they name, whatever their key is, and none where they have neither', () => {
    const { orderkey: _, ...extensions } = event.extensions
    const own = sent({ ...eventRecord('orders', event), key: Buffer.from('theirs') })
    expect(orderedByKey(readRecord(own, place, 0).event, own)).toEqual(event)
    const none = sent(eventRecord('orders', { ...event, extensions }))
    expect(orderedByKey(readRecord(none, place, 0).event, none).extensions).toEqual(extensions)
  })

  it("show someone else's header that looks like ours, and believe only our own topics", () => {
    const { headers, ...rest } = eventRecord('orders', event)
    const theirs = [Buffer.from('reprieve-trail'), Buffer.from('{"spent":9,"generation":0,"records":[]}')]
    const record = sent({ ...rest, headers: [...headers, ...theirs] })
    expect(readRecord(record, place, 0)).toMatchObject({
      event: { headers: { 'reprieve-trail': expect.any(String) } },
      trail: { spent: 0 },
    })
    expect(readRecord(record, parcels, 0).trail.spent).toBe(9)
  })

  it('say so where they name no type, and have that of their topic', () => {
    const plain = { ...eventRecord('orders', event), headers: [] }
    expect(readRecord(sent(plain), place, 7)).toMatchObject({ event: { type: place.topic }, untyped: true })
    expect(readRecord(sent(eventRecord('orders', event)), place, 7)).not.toHaveProperty('untyped')
  })

  it('of CloudEvents in a batch are broken, with their bytes', () => {
    const headers = [Buffer.from('content-type'), Buffer.from('application/cloudevents-batch+json')]
    const record = sent({ ...eventRecord('orders', event), value: Buffer.from('[{}]'), headers })
    const { event: standIn, broken } = readRecord(record, place, 12)
    expect(broken).toMatch(/batch\+json' can't be read/)
    expect(standIn).toMatchObject({ id: 'kafka:orders/2/12', type: 'orders', data: Buffer.from('[{}]') })
  })

  it('that can not be read at all are broken, with their bytes', () => {
    const record = sent(eventRecord('orders', event))
    const cut = { bytes: record.bytes.subarray(0, record.at + 20), at: record.at, end: record.at + 20 }
    const { event: standIn, broken } = readRecord(cut, place, 12)
    expect(broken).toMatch(/can't be read/)
    expect(standIn).toMatchObject({ id: 'kafka:orders/2/12', type: 'orders' })
    expect(standIn.data?.byteLength).toBe(cut.end - cut.at)
  })
})
