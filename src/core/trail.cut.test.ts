import { describe, expect, it } from 'vitest'
import type { Failure } from './failure.ts'
import { type AttemptRecord, decodeTrail, extendTrail, freshTrail, type Trail } from './trail.ts'

const failure = (more: Partial<Failure> = {}): Failure => ({
  category: 'transient',
  kind: 'timeout',
  name: 'Error',
  message: 'no',
  because: 'so',
  ...more,
})
const recordOf = (more: Partial<Failure>): AttemptRecord =>
  extendTrail(freshTrail, failure(more), 5).records[0]!

describe('a record', () => {
  it('has what the failure has, and no more', () => {
    const bare = { attempt: 1, at: 5, category: 'transient', kind: 'timeout', name: 'Error', error: 'no' }
    expect(recordOf({})).toStrictEqual(bare)
    const more = { code: 'E7', status: 503 }
    expect(recordOf({ ...more, retryAfter: 7, stack: 'Error: no' })).toStrictEqual({ ...bare, ...more })
  })

  it.each([
    // [what, most bytes on the wire, how it is cut: the ellipsis takes three]
    ['error', 500, (text: string) => recordOf({ message: text }).error],
    ['name', 100, (text: string) => recordOf({ name: text }).name],
    ['code', 100, (text: string) => recordOf({ code: text }).code],
  ])('its %s takes at most %i bytes', (_, most, kept) => {
    expect(kept('x'.repeat(most))).toBe('x'.repeat(most))
    expect(kept('x'.repeat(most + 1))).toBe(`${'x'.repeat(most - 3)}…`)
    expect(kept('ü'.repeat(most / 2))).toBe('ü'.repeat(most / 2))
    expect(kept('ü'.repeat(most / 2 + 1))).toBe(`${'ü'.repeat(Math.floor((most - 3) / 2))}…`)
    // what JSON escapes takes more: a quote two, a control character six
    expect(kept('"'.repeat(most / 2))).toBe('"'.repeat(most / 2))
    expect(kept('"'.repeat(most / 2 + 1))).toBe(`${'"'.repeat(Math.floor((most - 3) / 2))}…`)
    expect(kept('\u0001'.repeat(most))).toBe(`${'\u0001'.repeat(Math.floor((most - 3) / 6))}…`)
  })

  it('is never cut amid a character, and never much shorter than it may be', () => {
    for (let pad = 0; pad < 40; pad++) {
      const error = recordOf({ message: 'x'.repeat(pad) + '😀'.repeat(300) }).error
      expect(error.isWellFormed(), error).toBe(true)
      expect(error).toMatch(/^x*(?:😀)+…$/u)
      expect(Buffer.byteLength(error)).toBeLessThanOrEqual(500)
      expect(Buffer.byteLength(error)).toBeGreaterThan(470)
    }
  })
})

describe('the records together', () => {
  const bytesOf = (records: readonly AttemptRecord[]) =>
    records.reduce((sum, record) => sum + Buffer.byteLength(JSON.stringify(record)) + 1, 0)
  /** Nearly full: what the last record may take is left. */
  const long = Array.from({ length: 12 }, () => failure({ name: 'TimeoutError', message: 'x'.repeat(500) }))
  const begun = long.reduce((trail, each, n) => extendTrail(trail, each, 1000 + n), freshTrail)

  it('take at most 7680 bytes, to the byte', () => {
    expect(begun.records).toHaveLength(12)
    const empty = bytesOf(extendTrail(begun, failure({ message: '' }), 1012).records)
    const full = extendTrail(begun, failure({ message: 'x'.repeat(7680 - empty) }), 1012)
    expect(bytesOf(full.records)).toBe(7680)
    expect(full.records).toHaveLength(13)
    const over = extendTrail(begun, failure({ message: 'x'.repeat(7681 - empty) }), 1012)
    expect(over.records.map(({ attempt }) => attempt)).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  })

  it('lose as many from the middle as they must, and no more', () => {
    const [first, ...rest] = begun.records
    const large = { ...first!, error: 'x'.repeat(2500) }
    const more = extendTrail(
      { ...begun, records: [large, ...rest] },
      failure({ message: 'y'.repeat(500) }),
      1012,
    )
    // one of some 2600 bytes, and 8 of some 600 each
    expect(more.records.map(({ attempt }) => attempt)).toEqual([1, 6, 7, 8, 9, 10, 11, 12, 13])
    expect(bytesOf(more.records)).toBeLessThanOrEqual(7680)
    expect(bytesOf(more.records) + bytesOf([begun.records[1]!])).toBeGreaterThan(7680)
    expect(more).toMatchObject({ spent: 13, counts: { transient: 13 }, firstFailureAt: 1000 })
  })

  it('are the first and the last at least, however large another made them', () => {
    const huge = { ...begun.records[0]!, error: 'x'.repeat(20_000) }
    const foreign: Trail = { ...freshTrail, spent: 1, records: [huge] }
    const { records } = extendTrail(foreign, failure(), 5)
    expect(records.map(({ attempt }) => attempt)).toEqual([1, 2])
  })
})

it('a header that lacks a part of a trail counts as none', () => {
  const whole = { spent: 1, generation: 0, records: [] }
  expect(decodeTrail(JSON.stringify(whole))).toStrictEqual({ ...whole, counts: {} })
  for (const more of [{ spent: '1' }, { generation: null }, { records: {} }]) {
    expect(decodeTrail(JSON.stringify({ ...whole, ...more }))).toBe(freshTrail)
  }
  for (const text of [undefined, '', 'null', '7', '{']) expect(decodeTrail(text)).toBe(freshTrail)
})
