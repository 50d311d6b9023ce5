import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { fromGrpc, grpcName } from './grpc.ts'

/** As grpc-js makes it. */
const grpcError = (code: number, message: string) =>
  Object.assign(new Error(message), { code, details: 'no', metadata: new Map() })

describe('the status codes of gRPC', () => {
  it.each([
    [0, 'OK', 'unknown', 'integration'],
    [1, 'CANCELLED', 'transient', 'timeout'],
    [2, 'UNKNOWN', 'unknown', 'integration'],
    [3, 'INVALID_ARGUMENT', 'permanent', 'integration'],
    [4, 'DEADLINE_EXCEEDED', 'transient', 'timeout'],
    [5, 'NOT_FOUND', 'permanent', 'integration'],
    [6, 'ALREADY_EXISTS', 'permanent', 'integration'],
    [7, 'PERMISSION_DENIED', 'permanent', 'auth'],
    [8, 'RESOURCE_EXHAUSTED', 'rate-limited', 'integration'],
    [9, 'FAILED_PRECONDITION', 'permanent', 'integration'],
    [10, 'ABORTED', 'transient', 'integration'],
    [11, 'OUT_OF_RANGE', 'permanent', 'integration'],
    [12, 'UNIMPLEMENTED', 'permanent', 'integration'],
    [13, 'INTERNAL', 'unknown', 'integration'],
    [14, 'UNAVAILABLE', 'transient', 'integration'],
    [15, 'DATA_LOSS', 'unknown', 'integration'],
    [16, 'UNAUTHENTICATED', 'permanent', 'auth'],
  ] as const)('%i %s is %s, kind %s', (number, name, category, kind) => {
    const expected = { category, kind, because: `gRPC ${name} is ${category}` }
    expect(grpcName(number)).toBe(name)
    const weak = name === 'CANCELLED' && { weak: true }
    expect(fromGrpc(name, 'no')).toStrictEqual({ ...expected, ...weak })
    const failure = classify(grpcError(number, `${number} ${name}: no`))
    expect(failure).toMatchObject({ ...expected, code: name })
    expect(failure).not.toHaveProperty('status')
  })

  it('a message that is too large is not a quota', () => {
    for (const text of [
      '8 RESOURCE_EXHAUSTED: Attempted to send message with a size larger than 4',
      '8 RESOURCE_EXHAUSTED: Received message larger than max (12 vs 4)',
      '8 RESOURCE_EXHAUSTED: Received message that decompresses to a size larger than 4',
    ]) {
      expect(fromGrpc('RESOURCE_EXHAUSTED', text)).toStrictEqual({
        category: 'permanent',
        kind: 'integration',
        because: 'gRPC RESOURCE_EXHAUSTED (message too large) is permanent',
      })
      expect(classify(grpcError(8, text)).category).toBe('permanent')
      expect(fromGrpc('UNAVAILABLE', text)!.category).toBe('transient')
    }
  })

  it('a cancelled call says less than its cause', () => {
    const error = Object.assign(grpcError(1, '1 CANCELLED: no'), { cause: { status: 404 } })
    expect(classify(error)).toMatchObject({ category: 'permanent', status: 404 })
  })

  it('other words and numbers are none', () => {
    expect(fromGrpc('NO_SUCH_STATUS', 'no')).toBeUndefined()
    for (const number of [-1, 17, 1.5]) expect(grpcName(number)).toBeUndefined()
    const almost = [
      { code: 14 },
      { code: 14, details: 'no' },
      { code: 14, details: 7, metadata: {} },
      { code: 14, details: 'no', metadata: 'x' },
      { code: '14', details: 'no', metadata: {} },
      { code: 17, details: 'no', metadata: {} },
    ]
    for (const more of almost) {
      expect(classify(Object.assign(new Error('no'), more)).category).toBe('unknown')
    }
  })
})
