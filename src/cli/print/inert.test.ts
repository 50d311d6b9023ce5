import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inert, inertLines, toJsonLine } from './inert.ts'

/** Whatever steers a terminal or hides what is written: C0, DEL, C1, bidi, zero width, tags, halves of pairs. */
const HARMFUL =
  /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\p{Surrogate}]|[\u{e0000}-\u{e007f}]/u

const nasty = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('a', '\n', '\u001b', '\u009b', '\u202e', '\ud800', '\u{e0041}', '"', '\\'),
  }),
)

describe('foreign text', () => {
  it('shows controls and direction marks as what they are', () => {
    expect(inert('a\u001b[31mb\u0007\u009b\u202e\n')).toBe('a␛[31mb␇<U+009B><U+202E>␊')
    expect(inertLines('one\r\ntwo\tthree\u001b')).toBe('one\ntwo  three␛')
  })

  it('leaves what people write alone', () => {
    const text = 'Grüße, 東京, 👩🏽, عربي, ∑ "x"'
    expect(inert(text)).toBe(text)
  })

  it('never lets anything harmful through', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        expect(HARMFUL.test(inert(text))).toBe(false)
        expect(HARMFUL.test(inertLines(text).replaceAll('\n', ''))).toBe(false)
      }),
    )
  })

  it('JSON is harmless too, and loses nothing', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const line = toJsonLine({ [text]: [text] })
        expect(HARMFUL.test(line)).toBe(false)
        expect(JSON.parse(line)).toEqual({ [text]: [text] })
      }),
    )
  })
})
