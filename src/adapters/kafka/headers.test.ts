import { crc32c } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import { collect, expectCollected } from '../../../test/collected.ts'
import { eachRecord, readBatches } from './batches.ts'
import { writeBatch } from './encode.ts'
import { headerBytes, readTexts } from './headers.ts'

const MEGABYTE = 1024 * 1024

describe('headers', () => {
  const readBack = (name: Buffer): string[] => {
    const record = { topic: 't', key: undefined, value: undefined, bytes: 0, partition: 0 }
    const headers = [name, Buffer.from('1')]
    const by = { producerId: 1n, epoch: 0, sequence: 0 }
    const bytes = writeBatch([{ ...record, headers }], by, 0, crc32c)
    const names: string[] = []
    for (const batch of readBatches(bytes, () => bytes))
      eachRecord(batch, (_offset, _timestamp, each) => {
        readTexts(each, (found) => void names.push(found))
      })
    return names
  }

  it('of any length are read, and only short names are kept', async () => {
    const held = () => {
      collect()
      return process.memoryUsage().arrayBuffers
    }
    const before = held()
    for (let n = 0; n < 256; n++) {
      const name = Buffer.alloc(MEGABYTE / 4, 'x').fill(`${n}`.padStart(3, '0'), MEGABYTE / 4 - 3)
      expect(readBack(name)[0]).toHaveLength(name.length)
    }
    await expect.poll(() => held() - before, { timeout: 10_000 }).toBeLessThan(8 * MEGABYTE)
  })

  it('of any length are written, and only short ones are kept', async () => {
    const long = 'x'.repeat(MEGABYTE)
    const refs = ['one', long].map((name) => new WeakRef(headerBytes(name, long).value))
    await expectCollected(refs)
    expect(headerBytes('one', 'short').value).toBe(headerBytes('one', 'short').value)
    expect(headerBytes('one', long).value.toString()).toBe(long)
  })
})
