import { createRecordsBatch } from '@platformatic/kafka'
import { describe, expect, it } from 'vitest'
import type { Returning } from '../../contracts/transport.ts'
import { eachRecord, readBatches } from './batches.ts'
import { readFound } from './found.ts'
import { addressOf, returningRecord } from './returning.ts'

describe('a foreign record on its way back', () => {
  it('has the headers that it had, those without a value too', () => {
    const headers = [
      ['trace', Buffer.from('abc').toString('base64')],
      ['empty', ''],
      ['none', null],
    ]
    const message = {
      origin: { to: 'theirs', address: { topic: 'theirs', headers } },
      event: { data: null },
      headers: { 'x-replay': '1' },
    } as unknown as Returning
    expect(returningRecord(message, addressOf(message)!, 1).headers).toEqual([
      Buffer.from('trace'),
      Buffer.from('abc'),
      Buffer.from('empty'),
      Buffer.alloc(0),
      Buffer.from('none'),
      undefined,
      Buffer.from('x-replay'),
      Buffer.from('1'),
    ])
  })

  it('goes to the partition where it was, whoever dealt out its key; by the key where that is not there', () => {
    const int = (value: number) => {
      const bytes = Buffer.alloc(4)
      bytes.writeInt32BE(value)
      return bytes
    }
    const told = new Map([
      [Buffer.from('kafka_dlt-original-topic'), Buffer.from('theirs')],
      [Buffer.from('kafka_dlt-original-partition'), int(2)],
    ])
    const sent = { topic: 'theirs.DLT', key: Buffer.from('k'), value: Buffer.from('1'), headers: told }
    const [batch] = readBatches(createRecordsBatch([sent]).buffer, () => Buffer.alloc(0))
    const partitions: (number | undefined)[] = []
    eachRecord(batch!, (offset, timestamp, record) => {
      const place = { topic: 'theirs.DLT', partition: 0, parcels: false }
      const { origin } = readFound(record, place, offset, timestamp)
      const message = { origin, event: { data: null }, headers: {} } as unknown as Returning
      for (const count of [3, 2]) {
        const returning = returningRecord(message, addressOf(message)!, count)
        expect(returning.key).toEqual(Buffer.from('k'))
        partitions.push(returning.partition)
      }
    })
    expect(partitions).toEqual([2, undefined])
  })
})
