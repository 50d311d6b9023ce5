import fc from 'fast-check'
import { expect, test } from 'vitest'
import { events, failures } from '../../test/arbitraries.ts'
import type { Event } from './event.ts'
import type { Failure } from './failure.ts'
import { type Letter, letterEvent, letterId, receiptEvent, toEnvelope, writeLetter } from './letter.ts'
import { readLetter, readReceipt } from './letter-reading.ts'
import { freshParcel } from './parcel.ts'
import { extendTrail, freshTrail, type Trail } from './trail.ts'

const AT = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const where = { service: 'mail', topic: 'orders', consumerGroup: 'mail-group', transport: 'memory' }

const letters = (): fc.Arbitrary<Letter> =>
  fc
    .record({
      event: events(),
      failed: fc.array(failures(), { minLength: 1, maxLength: 6 }),
      generation: fc.nat(3),
    })
    .map(({ event, failed, generation }) => {
      const parcel = freshParcel(event, AT)
      const start = { ...parcel.trail, generation }
      const trail = failed.reduce((sum, failure, n) => extendTrail(sum, failure, AT + n), start)
      return writeLetter({ ...parcel, trail }, where, '_mail.deadletter', {
        reason: 'attempts exhausted',
        failure: failed.at(-1)!,
        at: AT + 60_000,
        limit: 5,
        fingerprint: 'f-1',
      })
    })

test('every letter reads back equal, its event byte for byte', () => {
  fc.assert(
    fc.property(letters(), (letter) => {
      expect(readLetter(letterEvent(letter))).toEqual(letter)
    }),
  )
})

test('the id is a UUID v4 in form, and the same for doubles only', () => {
  const event: Event = {
    ...{ id: 'e', source: '/a', type: 'b', extensions: { correlationid: 'c' }, headers: {} },
    data: Buffer.from('{"n":1}'),
  }
  const id = letterId('s', 't', event, freshTrail)
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  // what a transport adds on the way, and how often it was tried, make no other death of it
  const again = { ...event, headers: { 'x-hop': '2' }, time: '2026-01-01T00:00:00Z' }
  expect(letterId('s', 't', again, { ...freshTrail, spent: 3 } as Trail)).toBe(id)
  const replay = { letter: 'l', attempt: 1, receiptTo: 'r' }
  const others = [
    letterId('s2', 't', event, freshTrail),
    letterId('s', 't2', event, freshTrail),
    letterId('s', 't', { ...event, id: 'e2' }, freshTrail),
    letterId('s', 't', { ...event, source: '/b' }, freshTrail),
    letterId('s', 't', { ...event, type: 'b2' }, freshTrail),
    letterId('s', 't', { ...event, extensions: {} }, freshTrail),
    letterId('s', 't', { ...event, extensions: { correlationid: 'd' } }, freshTrail),
    letterId('s', 't', { ...event, data: Buffer.from('{"n":2}') }, freshTrail),
    letterId('s', 't', { ...event, data: Buffer.from('') }, freshTrail),
    letterId('s', 't', { ...event, data: null }, freshTrail),
    letterId('s', 't', event, { generation: 1 }),
    letterId('s', 't', event, { generation: 1, replay }),
    letterId('s', 't', event, { generation: 1, replay: { ...replay, letter: 'm' } }),
  ]
  expect(new Set([id, ...others]).size).toBe(14)
})

test('the envelope says in plain fields what any consumer needs', () => {
  const failure: Failure = {
    category: 'permanent',
    kind: 'business',
    name: 'Refused',
    message: 'no such customer',
    status: 404,
    because: '',
  }
  const event = {
    id: 'e-1',
    source: '/',
    type: 'order.placed',
    time: '2026-01-01T00:00:00Z',
    extensions: { correlationid: 'c-1' },
    headers: { h: 'x' },
    data: Buffer.from('{"a":1}'),
    datacontenttype: 'application/json',
  }
  const trail = extendTrail(freshParcel(event, AT).trail, failure, AT)
  const letter = writeLetter({ event, trail, due: AT }, where, '_mail.deadletter', {
    reason: 'permanent',
    failure,
    at: AT,
    limit: 5,
    fingerprint: 'f',
  })
  expect(toEnvelope(letter)).toMatchObject({
    dlqId: letter.id,
    originalTopic: 'orders',
    originalEventId: 'e-1',
    originalTimestamp: '2026-01-01T00:00:00Z',
    consumerService: 'mail',
    consumerGroup: 'mail-group',
    failureCategory: 'permanent',
    httpStatus: 404,
    errorCode: null,
    retryAttempts: [
      {
        attempt: 1,
        timestamp: '2026-01-02T03:04:05.678Z',
        error: 'no such customer',
        errorCode: null,
        httpStatus: 404,
      },
    ],
    totalRetries: 0,
    firstFailureAt: '2026-01-02T03:04:05.678Z',
    routedToDlqAt: '2026-01-02T03:04:05.678Z',
    correlationId: 'c-1',
    originalMessage: { specversion: '1.0', id: 'e-1', type: 'order.placed', data: { a: 1 } },
  })
})

test('what carries no letter is none', () => {
  const event = letterEvent(fc.sample(letters(), 1)[0]!)
  expect(readLetter({ ...event, type: 'other' })).toBeUndefined()
  for (const data of [
    '',
    '{',
    'null',
    '{}',
    '{"dlqId":"x"}',
    '{"dlqId":"x","trail":{},"originalMessage":7}',
  ]) {
    expect(readLetter({ ...event, data: Buffer.from(data) }), data).toBeUndefined()
  }
  expect(readLetter({ ...event, data: null })).toBeUndefined()
})

test('a receipt reads back equal', () => {
  const receipt = { letter: 'l-1', to: '_office', outcome: 'done', at: AT, attempts: 3 } as const
  expect(readReceipt(receiptEvent(receipt))).toEqual(receipt)
  expect(readReceipt({ ...receiptEvent(receipt), type: 'other' })).toBeUndefined()
  expect(readReceipt({ ...receiptEvent(receipt), data: Buffer.from('{}') })).toBeUndefined()
})
