import { describe, expect, it } from 'vitest'
import type { Event } from './event.ts'
import type { Failure } from './failure.ts'
import { letterEvent, letterId, toEnvelope, writeLetter } from './letter.ts'
import { readLetter } from './letter-reading.ts'
import { extendTrail, freshTrail } from './trail.ts'

const event: Event = {
  id: 'e-1',
  source: 'todo-api',
  type: 'todo.task.created',
  time: '2026-01-01T00:00:00.000Z',
  datacontenttype: 'application/json',
  extensions: { correlationid: 'c-1' },
  headers: { 'x-tenant': 'a' },
  data: Buffer.from('{"id":"t-1"}'),
}
const at = Date.parse('2026-01-01T00:01:00.000Z')
const first: Failure = {
  category: 'transient',
  kind: 'timeout',
  name: 'Error',
  message: 'Connection timeout',
  code: 'ETIMEDOUT',
  because: '',
}
const last: Failure = {
  category: 'transient',
  kind: 'integration',
  name: 'Error',
  message: '503 Service Unavailable',
  status: 503,
  stack: 'Error: at x',
  because: '',
}
const trail = extendTrail(extendTrail(freshTrail, first, at), last, at + 1000)
const where = {
  service: 'notification-svc',
  topic: 'todo.task.created',
  consumerGroup: 'notification-svc',
  transport: 'sqlite',
}
const death = {
  reason: 'attempts exhausted',
  failure: last,
  at: at + 1000,
  limit: 2,
  fingerprint: 'f1-0',
} as const
const letter = writeLetter({ event, trail, due: 0 }, where, '_notification-svc.deadletter', death)

describe('the dead-letter envelope', () => {
  it('has every published field, and the original message as it was', () => {
    expect(toEnvelope(letter)).toMatchObject({
      dlqId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      originalTopic: 'todo.task.created',
      originalEventId: 'e-1',
      originalTimestamp: '2026-01-01T00:00:00.000Z',
      consumerService: 'notification-svc',
      consumerGroup: 'notification-svc',
      failureCategory: 'transient',
      retryAttempts: [
        {
          attempt: 1,
          timestamp: '2026-01-01T00:01:00.000Z',
          error: 'Connection timeout',
          errorCode: 'ETIMEDOUT',
          httpStatus: null,
        },
        {
          attempt: 2,
          timestamp: '2026-01-01T00:01:01.000Z',
          error: '503 Service Unavailable',
          errorCode: null,
          httpStatus: 503,
        },
      ],
      totalRetries: 1,
      firstFailureAt: '2026-01-01T00:01:00.000Z',
      routedToDlqAt: '2026-01-01T00:01:01.000Z',
      correlationId: 'c-1',
      originalMessage: { specversion: '1.0', id: 'e-1', type: 'todo.task.created', data: { id: 't-1' } },
    })
  })

  it('also tells kind, reason, headers, limit and stack', () => {
    expect(toEnvelope(letter)).toMatchObject({
      failureKind: 'integration',
      reason: 'attempts exhausted',
      attemptLimit: 2,
      headers: { 'x-tenant': 'a' },
      stack: 'Error: at x',
    })
  })

  it('is read back as the same letter', () => {
    expect(readLetter(letterEvent(letter))).toEqual(letter)
  })

  it('has the same id however often the same death is buried, and another in the next life', () => {
    const id = (event: Event, generation: number) => letterId('s', 't', event, { generation })
    expect(id({ ...event }, 0)).toBe(id(event, 0))
    expect(id(event, 1)).not.toBe(id(event, 0))
  })

  it('is no letter to who reads something else', () => {
    expect(readLetter(event)).toBeUndefined()
    expect(readLetter({ ...letterEvent(letter), data: Buffer.from('{"dlqId":1}') })).toBeUndefined()
    expect(readLetter({ ...letterEvent(letter), data: Buffer.from('nonsense') })).toBeUndefined()
  })
})
