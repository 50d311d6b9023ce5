import { describe, expect, it } from 'vitest'
import type { Returning } from '../../contracts/transport.ts'
import { returningRecord } from './returning.ts'

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
    expect(returningRecord(message, 1).headers).toEqual([
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
})
