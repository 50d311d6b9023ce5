import { describe, expect, it } from 'vitest'
import { fromAws } from './aws.ts'
import { classify } from './classify.ts'

const each = (text: string): string[] => text.split(' ')

/** As the SDK's errors look, whatever service sent it. */
const sdkError = (name: string, message = 'no', httpStatusCode = 400) =>
  Object.assign(new Error(message), { name, $fault: 'client', $metadata: { httpStatusCode } })

describe('the codes of AWS', () => {
  it.each(
    each(
      'Throttling Throttled RequestThrottled ThrottledRequest TooManyRequests SlowDown RequestLimitExceeded ' +
        'BandwidthLimitExceeded ProvisionedThroughputExceeded LimitExceeded PriorRequestNotComplete EC2Throttled ' +
        'KmsThrottled OverLimit',
    ),
  )('%s: throttled', (code) => {
    const expected = { category: 'rate-limited', kind: 'integration', because: `AWS ${code} is rate-limited` }
    expect(fromAws(code, 'no')).toStrictEqual(expected)
    expect(fromAws(`${code}Exception`, 'no')!.category).toBe('rate-limited')
    expect(classify(sdkError(code))).toMatchObject({ ...expected, code, status: 400 })
  })

  it.each(
    each(
      'MessageNotInflight PurgeQueueInProgress QueueDeletedRecently TransactionInProgress ServiceUnavailable',
    ),
  )('%s: it passes', (code) => {
    const expected = { category: 'transient', kind: 'integration', because: `AWS ${code} is transient` }
    expect(fromAws(code, 'no')).toStrictEqual(expected)
    expect(fromAws(`${code}Fault`, 'no')!.category).toBe('transient')
    expect(fromAws(`AWS.SimpleQueueService.${code}`, 'no')).toStrictEqual({
      ...expected,
      because: `AWS AWS.SimpleQueueService.${code} is transient`,
    })
  })

  it.each(each('RequestTimeout RequestTimeoutException RequestTimeoutError'))(
    '%s: it took too long',
    (code) => {
      expect(fromAws(code, 'no')).toStrictEqual({
        category: 'transient',
        kind: 'timeout',
        because: `AWS ${code} is transient`,
      })
    },
  )

  it.each(
    each(
      'AccessDenied KmsAccessDenied KmsOptInRequired OptInRequired NotAuthorized Unauthorized ' +
        'UnauthorizedOperation AuthFailure ExpiredToken ExpiredTokenId InvalidClientTokenId UnrecognizedClient ' +
        'IncompleteSignature SignatureDoesNotMatch InvalidSignature MissingAuthenticationToken InvalidAccessKeyId ' +
        'InvalidSecurity RequestExpired',
    ),
  )('%s: not allowed', (code) => {
    expect(fromAws(code, 'no')).toStrictEqual({
      category: 'permanent',
      kind: 'auth',
      because: `AWS ${code} is permanent`,
    })
  })

  it.each(each('InvalidParameterValue InvalidParameterValueException ReceiptHandleIsInvalid'))(
    '%s: by what it says of the handle',
    (code) => {
      for (const text of [
        'The receipt handle has expired',
        'Reason: Message does not exist or is not available for visibility timeout change.',
      ]) {
        expect(fromAws(code, text)).toStrictEqual({
          category: 'transient',
          kind: 'integration',
          because: `AWS ${code} (visibility expired) is transient`,
        })
      }
      expect(fromAws(code, 'no')).toBeUndefined()
      expect(classify(sdkError(code))).toMatchObject({
        category: 'permanent',
        because: 'HTTP 400 is permanent',
      })
    },
  )

  it('another code is left to its status, whatever its text', () => {
    expect(fromAws('QueueDoesNotExist', 'The receipt handle has expired')).toBeUndefined()
    expect(fromAws('ExceptionThrottling', 'no')).toBeUndefined()
    expect(classify(sdkError('InternalFailure', 'no', 500))).toMatchObject({ because: 'HTTP 500 is unknown' })
  })

  it('a name alone is not AWS', () => {
    const fault = { $fault: 'client' }
    const metadata = { $metadata: { httpStatusCode: 400 } }
    for (const more of [{}, fault, { ...fault, $metadata: 1 }, { status: 400, $fault: 7, ...metadata }]) {
      const error = Object.assign(new Error('no'), { name: 'ThrottlingException', ...more })
      expect(classify(error).category).not.toBe('rate-limited')
    }
  })
})
