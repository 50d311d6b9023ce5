import { describe, expect, it } from 'vitest'
import {
  checkEvent,
  decodeData,
  type Event,
  encodeData,
  MAX_ATTRIBUTES_BYTES,
  MAX_DATA_BYTES,
} from './event.ts'

const event = (more: Partial<Event> = {}): Event => ({
  id: 'e-1',
  source: 's',
  type: 't',
  extensions: {},
  headers: {},
  data: null,
  ...more,
})

describe('an event that can travel', () => {
  it('has id, source and type', () => {
    expect(() => checkEvent(event())).not.toThrow()
    for (const name of ['id', 'source', 'type'] as const) {
      expect(() => checkEvent(event({ [name]: '' }))).toThrow(new RegExp(`'${name}' is empty`))
      expect(() => checkEvent(event({ [name]: undefined }))).toThrow(new RegExp(`'${name}' is missing`))
    }
  })

  it('has extension attributes that no binding confuses', () => {
    expect(() => checkEvent(event({ extensions: { tenant: 'a' } }))).not.toThrow()
    expect(() => checkEvent(event({ extensions: { 'x-tenant': 'a' } }))).toThrow(/'x-tenant' may hold only/)
    expect(() => checkEvent(event({ extensions: { type: 'other' } }))).toThrow(
      /name of a CloudEvents attribute/,
    )
    expect(() => checkEvent(event({ extensions: { priority: 'soon' as never } }))).toThrow(
      /'soon' is none of/,
    )
  })

  it('has attributes and data that every transport carries', () => {
    const room = MAX_ATTRIBUTES_BYTES - 'e-1st'.length - 'subject'.length
    expect(() => checkEvent(event({ headers: { subject: 'x'.repeat(room) } }))).not.toThrow()
    expect(() => checkEvent(event({ headers: { subject: 'x'.repeat(room + 1) } }))).toThrow(/16385 bytes/)
    expect(() => checkEvent(event({ subject: 'ü'.repeat(MAX_ATTRIBUTES_BYTES / 2) }))).toThrow(/bytes/)
    expect(() => checkEvent(event({ data: Buffer.alloc(MAX_DATA_BYTES) }))).not.toThrow()
    expect(() => checkEvent(event({ data: Buffer.alloc(MAX_DATA_BYTES + 1) }))).toThrow(/its data takes/)
  })
})

describe('an event that can not travel', () => {
  const refused = (more: Partial<Event>): unknown => {
    try {
      return checkEvent(event(more))
    } catch (error) {
      return error
    }
  }

  it('is refused by a code, with the event and the reason', () => {
    expect(refused({ type: '' })).toMatchObject({
      name: 'ReprieveError',
      code: 'bad_event',
      message: "event e-1 of type (no type): its attribute 'type' is empty",
    })
    expect(refused({ id: '' })).toMatchObject({
      message: "event (no id) of type t: its attribute 'id' is empty",
    })
    expect(refused({ extensions: { priority: 'soon' as never } })).toMatchObject({
      message: "event e-1 of type t: its priority 'soon' is none of low, normal, high, critical",
    })
    expect(refused({ extensions: { Tenant: 'a' } })).toMatchObject({
      message:
        "event e-1 of type t: the extension attribute 'Tenant' may hold only lower-case letters and digits, at most 40",
    })
  })

  it.each([
    ...['specversion', 'id', 'source', 'type', 'subject', 'time'],
    ...['datacontenttype', 'dataschema', 'data'],
  ])("the extension '%s' would pass for an attribute", (name) => {
    expect(refused({ extensions: { [name]: 'x' } })).toMatchObject({
      message: `event e-1 of type t: the extension attribute '${name}' has the name of a CloudEvents attribute`,
    })
  })

  it.each(['low', 'normal', 'high', 'critical'] as const)('but the priority %s may', (priority) => {
    expect(refused({ extensions: { priority } })).toBeUndefined()
  })

  it('names of extensions have at most 40 letters', () => {
    expect(refused({ extensions: { ['a'.repeat(40)]: 'x' } })).toBeUndefined()
    expect(refused({ extensions: { ['a'.repeat(41)]: 'x' } })).toMatchObject({ code: 'bad_event' })
    expect(refused({ extensions: { 'X-Old': undefined } })).toBeUndefined()
  })

  it('every attribute counts, and every byte of it', () => {
    const room = 16_384 - 'e-1st'.length
    const ways: ((left: number) => Partial<Event>)[] = [
      (left) => ({ id: `e-1${'x'.repeat(left)}` }),
      (left) => ({ subject: 'x'.repeat(left) }),
      (left) => ({ time: 'x'.repeat(left) }),
      (left) => ({ datacontenttype: 'x'.repeat(left) }),
      (left) => ({ dataschema: 'x'.repeat(left) }),
      (left) => ({ subject: `ü${'x'.repeat(left - 2)}` }),
      (left) => ({ extensions: { tenant: 'x'.repeat(left - 6) } }),
      (left) => ({ extensions: { tenant: `ü${'x'.repeat(left - 8)}` } }),
      (left) => ({ extensions: { n: 12, tenant: 'x'.repeat(left - 9) } }),
      (left) => ({ headers: { ü: `ü${'x'.repeat(left - 4)}` } }),
      (left) => ({ headers: { a: 'bc' }, extensions: { tenant: 'x'.repeat(left - 9) } }),
    ]
    for (const way of ways) {
      expect(refused(way(room)), way.toString()).toBeUndefined()
      expect(refused(way(room + 1)), way.toString()).toMatchObject({
        message: expect.stringMatching(
          /: its attributes and headers take 16385 bytes, at most 16384 can travel$/,
        ),
      })
    }
    expect(refused({ data: Buffer.alloc(4_194_305) })).toMatchObject({
      message: 'event e-1 of type t: its data takes 4194305 bytes, at most 4194304 can travel',
    })
  })
})

describe('data', () => {
  it('is told by its type', () => {
    expect(encodeData(undefined)).toStrictEqual({ data: null })
    expect(encodeData(Uint8Array.of(1))).toStrictEqual({
      data: Uint8Array.of(1),
      datacontenttype: 'application/octet-stream',
    })
    expect(encodeData({ a: 1 })).toStrictEqual({
      data: Buffer.from('{"a":1}'),
      datacontenttype: 'application/json',
    })
  })

  it.each([
    // [content type, what a handler sees of the bytes `7`]
    [undefined, 7],
    ['application/json', 7],
    ['application/json; charset=utf-8', 7],
    ['APPLICATION/JSON', 7],
    ['application/vnd.task+json', 7],
    ['application/vnd.task.v1-2+json;a=b', 7],
    ['text/plain', '7'],
    ['Text/CSV; charset=utf-8', '7'],
    ['application/jsonl', Buffer.from('7')],
    ['application/xml', Buffer.from('7')],
    ['x-application/json', Buffer.from('7')],
    ['application/+json', Buffer.from('7')],
    ['application/text/plain', Buffer.from('7')],
    ['application/vnd.task+json-seq', Buffer.from('7')],
    ['', Buffer.from('7')],
  ])("as '%s'", (type, seen) => {
    const typed = type === undefined ? {} : { datacontenttype: type }
    expect(decodeData(event({ ...typed, data: Buffer.from('7') }))).toStrictEqual(seen)
  })

  it('comes back as it went: JSON, text, bytes, nothing', () => {
    const round = (data: unknown, type?: string) => {
      const encoded = encodeData(data)
      return decodeData(event({ ...encoded, ...(type && { datacontenttype: type }) }))
    }
    expect(round({ a: [1, null, 'ü'] })).toEqual({ a: [1, null, 'ü'] })
    expect(round(Buffer.from('grüß'), 'text/plain; charset=utf-8')).toBe('grüß')
    expect(round(Buffer.from([0, 255]))).toEqual(Buffer.from([0, 255]))
    expect(round(undefined)).toBeUndefined()
    expect(round(null)).toBeNull()
    expect(round(Buffer.from('{"a":1}'), 'application/vnd.task+json')).toEqual({ a: 1 })
  })

  it('that is not what it says can not be decoded', () => {
    expect(() => decodeData(event({ data: Buffer.from('{'), datacontenttype: 'application/json' }))).toThrow(
      SyntaxError,
    )
    expect(() => decodeData(event({ data: Buffer.from([0xff]), datacontenttype: 'text/plain' }))).toThrow(
      TypeError,
    )
    expect(() => decodeData(event({ data: Buffer.alloc(0), datacontenttype: 'application/json' }))).toThrow(
      SyntaxError,
    )
  })
})
