import { describe, expect, it } from 'vitest'
import type { Event } from './event.ts'
import type { Failure } from './failure.ts'
import { letterEvent, letterId, receiptEvent, toEnvelope, writeLetter } from './letter.ts'
import { readLetter, readReceipt } from './letter-reading.ts'
import { freshTrail, type Trail } from './trail.ts'

const AT = Date.UTC(2026, 0, 2, 3, 4, 5)
const event: Event = {
  id: 'e-1',
  source: '/shop',
  type: 'order.placed',
  extensions: {},
  headers: {},
  data: null,
}
const where = { service: 'mail', topic: 'orders', consumerGroup: 'mail-group', transport: 'memory' }
const failure: Failure = {
  category: 'permanent',
  kind: 'business',
  name: 'Refused',
  message: 'no such customer',
  because: 'it was thrown as Refused',
}
const death = { reason: 'permanent', failure, at: AT, limit: 5, fingerprint: 'f1-a' } as const
const write = (trail: Trail, more: Partial<Failure> = {}) =>
  writeLetter({ event, trail, due: 0 }, where, '_mail.deadletter', {
    ...death,
    failure: { ...failure, ...more },
  })

describe('a letter', () => {
  it('has what was known, and no more', () => {
    expect(write(freshTrail)).toStrictEqual({
      id: 'd1130bb0-bcf5-4fdf-b25d-4b73e7821073',
      destination: '_mail.deadletter',
      service: 'mail',
      topic: 'orders',
      consumerGroup: 'mail-group',
      transport: 'memory',
      event,
      trail: freshTrail,
      category: 'permanent',
      kind: 'business',
      reason: 'permanent',
      error: 'no such customer',
      fingerprint: 'f1-a',
      limit: 5,
      firstFailureAt: AT,
      buriedAt: AT,
    })
    const more = { code: 'E7', status: 404, stack: 'Refused: no' }
    expect(write({ ...freshTrail, firstFailureAt: AT - 5 }, more)).toMatchObject({
      ...more,
      firstFailureAt: AT - 5,
    })
  })

  it('has an id that any program can work out', () => {
    // SHA-256 of ["mail","orders","e-1","/shop","order.placed","c-1","AVq9f1zFei3ZS3WQ8ErYCE",0,null] as JSON, cut, with
    // the marks of a UUID v4; the payload's own SHA-256 is in it in base64url, its first 22 characters
    const placed = { ...event, extensions: { correlationid: 'c-1' }, data: Buffer.from('{"a":1}') }
    const first = '3c0f58b9-5066-4334-83fd-5b28fc8de64b'
    expect(letterId('mail', 'orders', placed, freshTrail)).toBe(first)
    const replay = { letter: 'f19905a2-1d3b-4cee-b509-799388a37f01', attempt: 2, receiptTo: 'r' }
    const bare = { ...event, id: 'e', source: '/', type: 't' }
    expect(letterId('ü', 't', bare, { generation: 2, replay })).toBe('5e1479f7-0ae1-4a60-bc8c-1c65a0414bf1')
  })

  it('as an envelope, whole', () => {
    const records = [
      {
        attempt: 1,
        at: AT - 5,
        category: 'transient',
        kind: 'timeout',
        name: 'Late',
        error: 'late',
        code: 'E8',
      },
      {
        attempt: 2,
        at: AT,
        category: 'permanent',
        kind: 'business',
        name: 'Refused',
        error: 'no',
        status: 404,
      },
    ] as const
    const trail: Trail = { ...freshTrail, spent: 2, firstFailureAt: AT - 5, records }
    expect(toEnvelope(write(trail))).toStrictEqual({
      dlqId: 'd1130bb0-bcf5-4fdf-b25d-4b73e7821073',
      originalTopic: 'orders',
      originalEventId: 'e-1',
      originalTimestamp: null,
      consumerService: 'mail',
      consumerGroup: 'mail-group',
      failureCategory: 'permanent',
      failureKind: 'business',
      reason: 'permanent',
      error: 'no such customer',
      errorCode: null,
      httpStatus: null,
      stack: null,
      retryAttempts: [
        {
          attempt: 1,
          timestamp: '2026-01-02T03:04:04.995Z',
          error: 'late',
          errorCode: 'E8',
          httpStatus: null,
          category: 'transient',
          kind: 'timeout',
          name: 'Late',
        },
        {
          attempt: 2,
          timestamp: '2026-01-02T03:04:05.000Z',
          error: 'no',
          errorCode: null,
          httpStatus: 404,
          category: 'permanent',
          kind: 'business',
          name: 'Refused',
        },
      ],
      totalRetries: 1,
      attemptLimit: 5,
      firstFailureAt: '2026-01-02T03:04:04.995Z',
      routedToDlqAt: '2026-01-02T03:04:05.000Z',
      correlationId: null,
      fingerprint: 'f1-a',
      destination: '_mail.deadletter',
      transport: 'memory',
      headers: {},
      trail,
      originalMessage: { specversion: '1.0', id: 'e-1', source: '/shop', type: 'order.placed' },
    })
    // one that was never tried has no retries, rather than one less than none
    expect(toEnvelope(write(freshTrail)).totalRetries).toBe(0)
  })

  it('travels as an event of its own', () => {
    const letter = write(freshTrail)
    expect(letterEvent(letter)).toStrictEqual({
      id: letter.id,
      source: 'reprieve/mail',
      type: 'reprieve.letter',
      subject: 'e-1',
      time: '2026-01-02T03:04:05.000Z',
      datacontenttype: 'application/json',
      extensions: {},
      headers: {},
      data: Buffer.from(JSON.stringify(toEnvelope(letter))),
    })
    expect(readLetter(letterEvent(letter))).toStrictEqual(letter)
    const full = write(freshTrail, { code: 'E7', status: 404, stack: 'Refused: no' })
    expect(readLetter(letterEvent(full))).toStrictEqual(full)
  })

  it('is read only where an envelope is whole enough', () => {
    const letter = write(freshTrail)
    const reading = (more: object) => {
      const data = Buffer.from(JSON.stringify({ ...toEnvelope(letter), ...more }))
      return readLetter({ ...letterEvent(letter), data })
    }
    expect(reading({ dlqId: 7 })).toBeUndefined()
    expect(reading({ trail: null })).toMatchObject({ trail: { spent: 0, records: [] }, unread: ['trail'] })
    expect(reading({ originalMessage: {} })).toBeUndefined()
    expect(reading({ headers: undefined })).toStrictEqual(letter)
  })
})

describe('a receipt', () => {
  const receipt = { letter: 'l-1', to: '_office', outcome: 'already done', at: AT, attempts: 3 } as const

  it('travels as an event of its own', () => {
    expect(receiptEvent(receipt)).toStrictEqual({
      id: 'l-1#receipt',
      source: 'reprieve',
      type: 'reprieve.receipt',
      time: '2026-01-02T03:04:05.000Z',
      datacontenttype: 'application/json',
      extensions: {},
      headers: {},
      data: Buffer.from(JSON.stringify(receipt)),
    })
  })

  it.each([
    ['nothing', null],
    ['half of it', '{"letter":'],
    ['null', 'null'],
    ['no letter', '{"outcome":"done"}'],
    ['no outcome', '{"letter":"l-1"}'],
  ])('%s is none', (_, text) => {
    const data = text === null ? null : Buffer.from(text)
    expect(readReceipt({ ...receiptEvent(receipt), data })).toBeUndefined()
  })
})
