import {
  type CompressionAlgorithmValue,
  compressionsAlgorithmsByBitmask,
  createRecordsBatch,
} from '@platformatic/kafka'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eachRecord, keyOf, readBatches, readFields, type Unpack } from './batches.ts'

const unpack: Unpack = (packing, bytes) => compressionsAlgorithmsByBitmask[packing]!.decompressSync(bytes)

interface Written {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: [Buffer, Buffer][]
  readonly timestamp: bigint
}

const write = (records: readonly Written[], compression: CompressionAlgorithmValue = 'none'): Buffer =>
  createRecordsBatch(
    records.map(({ key, value, headers, timestamp }) => ({
      topic: 't',
      timestamp,
      headers: new Map(headers),
      ...(key && { key }),
      ...({ value: value ?? undefined } as { value: Buffer }),
    })),
    { compression },
  ).buffer

const read = (bytes: Buffer) =>
  readBatches(bytes, unpack).flatMap((batch) => {
    const records: (Written & { offset: number })[] = []
    eachRecord(batch, (offset, timestamp, record) => {
      const headers: [Buffer, Buffer][] = []
      const value = readFields(record, (bytes, nameAt, nameLength, valueAt, valueLength) => {
        const part = (at: number, length: number) => Buffer.from(bytes.subarray(at, at + length))
        headers.push([part(nameAt, nameLength), part(valueAt, valueLength)])
      })
      const key = keyOf(record)
      const copy = (each: Buffer | null) => each && Buffer.from(each)
      records.push({ offset, timestamp: BigInt(timestamp), key: copy(key), value: copy(value), headers })
    })
    return records
  })

const bytes = (most: number) => fc.uint8Array({ maxLength: most }).map((each) => Buffer.from(each))
const anyRecord = fc.record({
  // The client can't tell an empty key from none.
  key: fc.option(bytes(300).filter((each) => each.length > 0)),
  value: fc.option(bytes(20_000)),
  headers: fc.array(fc.tuple(bytes(200), bytes(200)), { maxLength: 6 }),
  // Further apart the client writes them wrongly.
  timestamp: fc.bigInt({ min: 1_700_000_000_000n, max: 1_701_000_000_000n }),
})

describe('record batches', () => {
  it('are read as the client wrote them', () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 20 }), (records) => {
        expect(read(write(records))).toEqual(records.map((record, offset) => ({ ...record, offset })))
      }),
      { numRuns: 60 },
    )
  })

  it.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('packed by %s too', (packing) => {
    const records = Array.from({ length: 50 }, (_, n) => ({
      key: Buffer.from(`k${n}`),
      value: Buffer.from('abc '.repeat(n)),
      headers: [] as [Buffer, Buffer][],
      timestamp: 5n,
    }))
    expect(read(write(records, packing)).map(({ value }) => value)).toEqual(records.map(({ value }) => value))
  })

  it('several follow each other, and one that is cut off is left for the next fetch', () => {
    const record = {
      key: null,
      value: Buffer.from('whole'),
      headers: [] as [Buffer, Buffer][],
      timestamp: 1n,
    }
    const one = write([record, record])
    for (const left of [0, 1, 11, 12, 60, one.length - 1]) {
      expect(read(Buffer.concat([one, one, one.subarray(0, left)]))).toHaveLength(4)
    }
  })

  it('broken lengths are an error, not an endless loop', () => {
    const one = write([{ key: null, value: Buffer.from('x'), headers: [], timestamp: 1n }])
    one.writeInt32BE(1_000_000, 57) // more records than there are
    expect(() => read(one)).toThrow(RangeError)
  })
})
