import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { events, textual } from '../../test/arbitraries.ts'
import { fromJson, fromMessage, STRUCTURED_TYPE, toJson, toMessage } from './cloudevents.ts'

const foreign = { id: 'f-1', source: 'kafka:topic', type: 'topic' }
const encode = (value: unknown) => Buffer.from(JSON.stringify(value))

describe('binary mode', () => {
  test.each(['ce_', 'cloudEvents:'])('carries every event there and back, with %s', (prefix) => {
    fc.assert(
      fc.property(events(), (event) => {
        const read = fromMessage(toMessage(event, prefix), [prefix], foreign)
        expect(read.broken).toBeUndefined()
        // Headers are text: numbers and booleans come back as such.
        expect(read.broken === undefined && read.event).toEqual(textual(event))
      }),
    )
  })

  test('an attribute of ours can not be overwritten by an extension of the same name', () => {
    const event = { ...foreign, extensions: { id: 'other', type: 'other' }, headers: {}, data: null }
    expect(toMessage(event, 'ce_').headers).toMatchObject({ ce_id: 'f-1', ce_type: 'topic' })
    expect(toJson(event)).toMatchObject({ id: 'f-1', type: 'topic' })
  })

  test('what belongs to the data is no extension, whoever wrote it into a header', () => {
    const headers = { ce_specversion: '1.0', ce_id: '1', ce_source: '/', ce_type: 't', ce_data: 'x' }
    const message = { headers: { ...headers, ce_datacontenttype: 'text/plain' }, body: null }
    expect(fromMessage(message, ['ce_'], foreign)).toEqual({
      event: {
        id: '1',
        source: '/',
        type: 't',
        datacontenttype: 'text/plain',
        extensions: {},
        headers: {},
        data: null,
      },
    })
  })

  test.each([
    [{ ce_specversion: '0.3' }, /version '0.3'/],
    [{ ce_specversion: '1.0', ce_source: 's', ce_type: 't' }, /'id' is missing/],
    [{ ce_specversion: '1.0', ce_id: '1', ce_source: '', ce_type: 't' }, /'source' is missing/],
    [{ ce_specversion: '1.0', ce_id: '1', ce_source: 's' }, /'type' is missing/],
  ])('%o is broken', (headers, why) => {
    expect(
      fromMessage({ headers: headers as Record<string, string>, body: null }, ['ce_'], foreign).broken,
    ).toMatch(why)
  })
})

describe('structured mode', () => {
  test('carries every event there and back, types of attributes included', () => {
    fc.assert(
      fc.property(events(), (event) => {
        const read = fromJson(JSON.parse(JSON.stringify(toJson(event))), event.headers, null)
        expect(read).toEqual({ event })
      }),
    )
  })

  test('is told by its content type', () => {
    const body = encode({ specversion: '1.0', id: '1', source: '/', type: 't', data: { a: 1 } })
    const contentType = `${STRUCTURED_TYPE.toUpperCase()}; charset=utf-8`
    expect(fromMessage({ contentType, headers: { h: 'x' }, body }, ['ce_'], foreign)).toEqual({
      event: {
        id: '1',
        source: '/',
        type: 't',
        datacontenttype: 'application/json',
        extensions: {},
        headers: { h: 'x' },
        data: Buffer.from('{"a":1}'),
      },
    })
  })

  test('the type of data is implied only where the data stands as JSON', () => {
    const event = { specversion: '1.0', id: '1', source: '/', type: 't' }
    const typeOf = (read: ReturnType<typeof fromJson>) =>
      read.broken === undefined && read.event.datacontenttype
    expect(typeOf(fromJson({ ...event, data: 1 }))).toBe('application/json')
    expect(typeOf(fromJson({ ...event, data: 1 }, {}, null))).toBeUndefined()
    expect(typeOf(fromJson({ ...event, data_base64: '/w==' }))).toBeUndefined()
    expect(typeOf(fromJson(event))).toBeUndefined()
  })

  test('data that is text under its own type stays text', () => {
    const read = fromJson({
      specversion: '1.0',
      id: '1',
      source: '/',
      type: 't',
      datacontenttype: 'text/xml',
      data: '<a/>',
    })
    expect(read.broken === undefined && Buffer.from(read.event.data!).toString()).toBe('<a/>')
  })

  test.each([
    ['not JSON', '{'],
    ['no object', '[]'],
    ['nothing', 'null'],
    ['no event', '{}'],
  ])('%s is broken', (_, body) => {
    const message = { contentType: STRUCTURED_TYPE, headers: {}, body: Buffer.from(body) }
    expect(fromMessage(message, ['ce_'], foreign).broken).toEqual(expect.any(String))
  })
})

test('what makes no claim to be CloudEvents is an event with what is known of it', () => {
  const message = { contentType: 'text/plain', headers: { h: 'x' }, body: Buffer.from('hello') }
  expect(fromMessage(message, ['ce_'], foreign)).toEqual({
    event: {
      ...foreign,
      datacontenttype: 'text/plain',
      extensions: {},
      headers: { h: 'x' },
      data: message.body,
    },
    untyped: true,
  })
})

test.each([
  'application/cloudevents-batch+json',
  'application/cloudevents+avro',
  'Application/CloudEvents-Batch+JSON; charset=utf-8',
])('%s claims to be CloudEvents, and nobody here reads it', (contentType) => {
  const message = { contentType, headers: {}, body: Buffer.from('[{}]') }
  expect(fromMessage(message, ['ce_'], foreign).broken).toMatch(
    /^CloudEvents as 'application\/cloudevents.* can't be read: one event a message, .*application\/cloudevents\+json/i,
  )
  // in binary mode it is only the type of the data
  const event = {
    ...foreign,
    extensions: {},
    headers: {},
    data: Buffer.from('[{}]'),
    datacontenttype: contentType,
  }
  expect(fromMessage(toMessage(event, 'ce_'), ['ce_'], foreign)).toEqual({ event })
})

test('no bytes make reading throw', () => {
  fc.assert(
    fc.property(
      fc.uint8Array(),
      fc.dictionary(fc.string(), fc.string()),
      fc.constantFrom(STRUCTURED_TYPE, 'x', undefined),
      (body, headers, contentType) => {
        const message = { body, headers: { ...headers }, ...(contentType && { contentType }) }
        fromMessage(message, ['ce_'], foreign)
      },
    ),
  )
})
