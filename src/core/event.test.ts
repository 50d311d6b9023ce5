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

describe('data', () => {
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
