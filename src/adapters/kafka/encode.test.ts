import { crc32c, createRecordsBatch, type MessageRecord } from '@platformatic/kafka'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eachRecord, keyOf, readBatches, readFields } from './batches.ts'
import { writeBatch } from './encode.ts'
import { asMessage, type Outgoing } from './outgoing.ts'

const NOW = 1_790_000_000_000
const by = { producerId: 7n, epoch: 3, sequence: 41 }
/** Behind the leader's epoch, which each client fills in as it likes. */
const VERSION_AT = 16

const bytes = (most: number) => fc.uint8Array({ maxLength: most }).map((each) => Buffer.from(each))
const records = fc.array(
  fc.record({
    topic: fc.constant('orders'),
    key: fc.option(bytes(200), { nil: undefined }),
    value: fc.option(
      fc.oneof(
        bytes(100),
        fc.constantFrom(8_190, 8_192, 70_000).map((n) => Buffer.alloc(n, 'x')),
      ),
      {
        nil: undefined,
      },
    ),
    headers: fc
      .array(fc.tuple(bytes(40), fc.option(bytes(300), { nil: undefined })), { maxLength: 70 })
      .map((pairs) => pairs.flat()),
    bytes: fc.constant(0),
    partition: fc.constant(0),
  }),
  { minLength: 1, maxLength: 80 },
)

describe('a batch of records', () => {
  it('is written as the client would, byte for byte, checksum included', () => {
    fc.assert(
      fc.property(records, (some: readonly Outgoing[]) => {
        const messages = some.map((each) => ({ ...asMessage(each), timestamp: BigInt(NOW) }) as MessageRecord)
        const sequences = new Map([['orders:0', by.sequence]])
        const theirs = createRecordsBatch(messages, {
          producerId: by.producerId,
          producerEpoch: by.epoch,
          sequences: { getWithDefault: (place: string) => sequences.get(place)! } as never,
        }).buffer
        const ours = writeBatch(some, by, NOW, crc32c)
        expect(ours.length).toBe(theirs.length)
        expect(ours.subarray(VERSION_AT).equals(theirs.subarray(VERSION_AT))).toBe(true)
        expect(ours.subarray(0, 12).equals(theirs.subarray(0, 12))).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  it('is read as it was written', () => {
    fc.assert(
      fc.property(records, (some: readonly Outgoing[]) => {
        const [batch, ...more] = readBatches(writeBatch(some, by, NOW, crc32c), () => Buffer.alloc(0))
        expect(more).toEqual([])
        expect(batch).toMatchObject({ count: some.length, timestamp: NOW, producerId: by.producerId })
        const found: unknown[] = []
        eachRecord(batch!, (offset, at, record) => {
          const headers: (Buffer | undefined)[] = []
          const value = readFields(record, (from, nameAt, nameLength, valueAt, valueLength) => {
            headers.push(
              from.subarray(nameAt, nameAt + nameLength),
              valueLength < 0 ? undefined : from.subarray(valueAt, valueAt + valueLength),
            )
          })
          found.push({ offset, at, key: keyOf(record) ?? undefined, value: value ?? undefined, headers })
        })
        expect(found).toEqual(
          some.map(({ key, value, headers }, offset) => ({
            offset,
            at: NOW,
            key,
            value,
            headers: [...headers],
          })),
        )
      }),
      { numRuns: 100 },
    )
  })
})
