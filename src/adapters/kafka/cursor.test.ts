import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Cursor } from './cursor.ts'

/** As the protocol says it, with numbers that can't overflow. */
const varint = (value: bigint): Buffer => {
  const bytes: number[] = []
  for (let left = value; ; left >>= 7n) {
    const low = Number(left & 0x7fn)
    if (left < 0x80n) return Buffer.from([...bytes, low])
    bytes.push(low | 0x80)
  }
}

describe('a cursor', () => {
  it('reads lengths and signed numbers of any size', () => {
    const safe = fc.maxSafeInteger()
    fc.assert(
      fc.property(fc.array(safe.filter((value) => Math.abs(value) < 2 ** 51)), (values) => {
        const zigzag = values.map((value) =>
          varint(value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value)),
        )
        const signed = new Cursor(Buffer.concat(zigzag))
        expect(values.map(() => signed.signed())).toEqual(values.map((value) => value + 0))
        const unsigned = new Cursor(Buffer.concat(values.map((value) => varint(BigInt(Math.abs(value))))))
        expect(values.map(() => unsigned.unsigned())).toEqual(values.map((value) => Math.abs(value)))
      }),
    )
  })

  it('passes by fields it does not know', () => {
    const from = new Cursor(Buffer.from([2, 0, 3, 1, 2, 3, 9, 0, 42]))
    from.skipTags()
    expect(from.int8()).toBe(42)
  })

  it('says so where the bytes end too early', () => {
    expect(() => new Cursor(Buffer.from([0x80])).unsigned()).toThrow(RangeError)
    expect(() => new Cursor(Buffer.from([1])).int32()).toThrow(RangeError)
  })
})
