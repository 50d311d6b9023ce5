import { describe, expect, it } from 'vitest'
import { decodeData } from '../core/event.ts'
import { testTools } from '../testing/tools.ts'
import type { PublishOptions } from './handler.ts'
import { makeEvent } from './publish.ts'

const made = (options: PublishOptions = {}, data: unknown = {}, type = 'a.b') =>
  makeEvent(type, data, options, testTools())

const circle: Record<string, unknown> = {}
circle.self = circle
const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown

describe('an event made of what a user hands over', () => {
  it('keeps what is given', () => {
    const event = made({ expires: '2031-01-01T00:00:00.5+02:00', time: '2026-01-31t10:00:00z' }, { x: 1 })
    expect(event).toMatchObject({ type: 'a.b', time: '2026-01-31t10:00:00z' })
    expect(event.extensions.expirytime).toBe('2031-01-01T00:00:00.5+02:00')
    expect(decodeData(event)).toEqual({ x: 1 })
  })

  it.for(['tomorrow', '', '5', '2031-01-01', '2031-13-01T00:00:00Z', new Date(0) as never])(
    'is refused with the time %s, by which it would never expire',
    (text) => {
      const wrong = { code: 'bad_event', fix: expect.stringContaining('RFC 3339') }
      expect(() => made({ expires: text })).toThrow(expect.objectContaining(wrong))
      expect(() => made({ time: text })).toThrow(expect.objectContaining(wrong))
    },
  )

  it.for<readonly [unknown, RegExp]>([
    [() => {}, /a function is no JSON/],
    [Symbol('s'), /a symbol is no JSON/],
    [1n, /BigInt/],
    [circle, /circular/],
    [deep, /nested too deeply/],
  ])('is refused with data that can not travel: %#', ([data, why]) => {
    expect(() => made({}, data)).toThrow(expect.objectContaining({ code: 'bad_event' }))
    expect(() => made({}, data)).toThrow(why)
  })

  it('is refused with a header that is no text, by its name', () => {
    expect(() => made({ headers: { retries: 3 as never } })).toThrow(/its header 'retries' is no text/)
  })

  it('has a type without stars and controls', () => {
    expect(() => made({}, {}, 'a.*')).toThrow(`"a.*" can't be the type of an event`)
    expect(() => made({}, {}, 'a\n  fix: b')).toThrow(String.raw`"a\n  fix: b" can't be the type of an event`)
  })

  it('is told of by the beginning of its id where that is what is too long', () => {
    const refused = /^event x{100}… of type a\.b: its attributes and headers take 100\d\d\d bytes/
    expect(() => made({ id: 'x'.repeat(100_000) })).toThrow(refused)
  })
})
