import { describe, expect, it } from 'vitest'
import { fromJson, fromMessage, STRUCTURED_TYPE, toJson, toMessage } from './cloudevents.ts'
import type { Event } from './event.ts'

const foreign = { id: 'f-1', source: 'kafka:topic', type: 'topic' }
const bare: Event = { id: '1', source: '/', type: 't', extensions: {}, headers: {}, data: null }
const json = { specversion: '1.0', id: '1', source: '/', type: 't' }

// The names of headers are made once for each prefix, so each test here has its own.
describe('headers', () => {
  it('hold what the event has, and no more', () => {
    expect(toMessage(bare, 'a_')).toStrictEqual({
      headers: { a_specversion: '1.0', a_id: '1', a_source: '/', a_type: 't' },
      body: null,
    })
    const more = { subject: undefined, time: undefined, datacontenttype: undefined, dataschema: undefined }
    const extensions = { tenant: undefined, priority: 'high', tries: 3, urgent: true }
    const event = { ...bare, ...more, extensions, headers: { h: 'x' } } as unknown as Event
    expect(toMessage(event, 'a_')).toStrictEqual({
      headers: {
        h: 'x',
        a_specversion: '1.0',
        a_id: '1',
        a_source: '/',
        a_type: 't',
        a_priority: 'high',
        a_tries: '3',
        a_urgent: 'true',
      },
      body: null,
    })
  })

  it('every attribute, there and back', () => {
    const event: Event = {
      ...bare,
      subject: 'order-1',
      time: '2026-01-01T00:00:00Z',
      dataschema: 'https://example.org/order.json',
      datacontenttype: 'text/plain',
      extensions: { tenant: 'a' },
      data: Buffer.from('x'),
    }
    const message = toMessage(event, 'b_')
    expect(message).toStrictEqual({
      contentType: 'text/plain',
      headers: {
        b_specversion: '1.0',
        b_id: '1',
        b_source: '/',
        b_type: 't',
        b_subject: 'order-1',
        b_time: '2026-01-01T00:00:00Z',
        b_dataschema: 'https://example.org/order.json',
        b_tenant: 'a',
      },
      body: Buffer.from('x'),
    })
    expect(fromMessage(message, ['b_'], foreign)).toStrictEqual({ event })
  })

  it('make an event with what they say, and no more', () => {
    const headers = { c_specversion: '1.0', c_id: '1', c_source: '/', c_type: 't' }
    expect(fromMessage({ headers, body: null }, ['c_'], foreign)).toStrictEqual({ event: bare })
  })

  it('of the data are no extensions', () => {
    const headers = { d_specversion: '1.0', d_id: '1', d_source: '/', d_type: 't', d_data: 'x' }
    const message = { headers: { ...headers, d_datacontenttype: 'text/plain' }, body: null }
    expect(fromMessage(message, ['d_'], foreign)).toStrictEqual({
      event: { ...bare, datacontenttype: 'text/plain' },
    })
    // where both are there, the message's own type holds
    expect(fromMessage({ ...message, contentType: 'text/xml' }, ['d_'], foreign)).toMatchObject({
      event: { datacontenttype: 'text/xml' },
    })
  })

  it('of the first binding that is there are read', () => {
    const headers = { f_specversion: '1.0', f_id: '1', f_source: '/', f_type: 't', e_id: 'x' }
    expect(fromMessage({ headers, body: null }, ['e_', 'f_'], foreign)).toStrictEqual({
      event: { ...bare, headers: { e_id: 'x' } },
    })
  })

  it('without a claim leave a foreign event, its type told only where it is known', () => {
    const body = Buffer.from('x')
    expect(fromMessage({ headers: {}, body }, ['g_'], foreign)).toStrictEqual({
      event: { ...foreign, extensions: {}, headers: {}, data: body },
      untyped: true,
    })
    expect(fromMessage({ headers: {}, body, contentType: '' }, ['g_'], foreign)).toStrictEqual({
      event: { ...foreign, extensions: {}, headers: {}, data: body },
      untyped: true,
    })
  })
})

describe('a structured body', () => {
  it.each([
    ['nothing at all', null, /^structured CloudEvents body is not JSON: Unexpected end of JSON input$/],
    ['half of it', '{', /^structured CloudEvents body is not JSON: .+/],
    ['a list', '[]', /^structured CloudEvents body is not a JSON object$/],
    ['null', 'null', /^structured CloudEvents body is not a JSON object$/],
    ['a number', '7', /^structured CloudEvents body is not a JSON object$/],
    ['no version', '{}', /^CloudEvents version 'undefined' is not 1\.0$/],
    ['no id', '{"specversion":"1.0"}', /^CloudEvents attribute 'id' is missing$/],
    ['an id that is a number', '{"specversion":"1.0","id":7}', /^CloudEvents attribute 'id' is missing$/],
  ])('%s says why it is broken', (_, text, why) => {
    const body = text === null ? null : Buffer.from(text)
    expect(fromMessage({ contentType: STRUCTURED_TYPE, headers: {}, body }, ['h_'], foreign)).toStrictEqual({
      broken: expect.stringMatching(why),
    })
  })

  it('attributes of the wrong type are left out', () => {
    const odd = { subject: 7, time: {}, dataschema: null, datacontenttype: 7 }
    expect(fromJson({ ...json, ...odd })).toStrictEqual({ event: bare })
    const extensions = { a: 'x', b: 7, c: false, d: null, e: { f: 1 }, g: [1] }
    expect(fromJson({ ...json, ...extensions })).toStrictEqual({
      event: { ...bare, extensions: { a: 'x', b: 7, c: false } },
    })
    expect(fromJson({ ...json, data_base64: 7 })).toStrictEqual({ event: bare })
  })

  it.each([
    // [content type, data, the bytes that travel]
    [undefined, 'text', '"text"'],
    ['application/json', 'text', '"text"'],
    ['text/plain', 'text', 'text'],
    ['text/plain', { a: 1 }, '{"a":1}'],
    ['application/json', null, 'null'],
  ])('of %s: %j travels as %s', (datacontenttype, data, bytes) => {
    const read = fromJson({ ...json, ...(datacontenttype && { datacontenttype }), data })
    expect(read).toStrictEqual({
      event: { ...bare, datacontenttype: datacontenttype ?? 'application/json', data: Buffer.from(bytes) },
    })
  })
})

describe('as JSON', () => {
  it('no extension takes the place of an attribute or of the data', () => {
    const extensions = { id: 'x', specversion: '0.3', data: 'x', constructor: 'c', tenant: 'a' }
    const event = { ...bare, extensions } as Event
    expect(toJson(event)).toStrictEqual({ ...json, constructor: 'c', tenant: 'a' })
  })

  it.each([
    // [content type, bytes, how they stand]
    [undefined, '{"a":1}', { data: { a: 1 } }],
    ['application/json', '"x"', { data: 'x' }],
    ['application/json', '{ "a": 1 }', { data_base64: 'eyAiYSI6IDEgfQ==' }],
    ['application/json', '{', { data_base64: 'ew==' }],
    ['text/plain', '7', { data_base64: 'Nw==' }],
    ['application/json', '', { data_base64: '' }],
  ])('of %s: %s keeps its bytes', (datacontenttype, text, standing) => {
    const bytes = Buffer.from(`..${text}..`).subarray(2, -2)
    const event = { ...bare, ...(datacontenttype && { datacontenttype }), data: new Uint8Array(bytes) }
    const expected = { ...json, ...(datacontenttype && { datacontenttype }), ...standing }
    expect(toJson(event)).toStrictEqual(expected)
    // a view into a larger buffer is no more than itself
    expect(toJson({ ...event, data: bytes })).toStrictEqual(expected)
  })
})
