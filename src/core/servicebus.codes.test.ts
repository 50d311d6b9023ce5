import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import type { Category, Kind } from './failure.ts'
import { conditionReason, fromServiceBus, generalReason } from './servicebus.ts'

const rows: readonly [Category, Kind, string][] = [
  ['rate-limited', 'integration', 'ServiceBusy ServerBusy'],
  [
    'transient',
    'timeout',
    'ServiceTimeout OperationTimeout OperationTimeoutError ServiceUnavailable ServiceUnavailableError ' +
      'MessageWaitTimeout Timeout',
  ],
  [
    'transient',
    'integration',
    'ServiceCommunicationProblem ServiceCommunicationError MessageLockLost MessageLockLostError SessionLockLost ' +
      'StoreLockLostError QuotaExceeded QuotaExceededError SessionCannotBeLocked DetachForced ConnectionForced ' +
      'OperationCancelledError SenderBusyError SenderNotReadyError TransferLimitExceeded InsufficientCreditError ' +
      'ResourceLocked ReceiverDisconnectedError LinkRedirect ConnectionRedirect ResourceLimitExceeded Forced Stolen',
  ],
  ['permanent', 'auth', 'UnauthorizedAccess UnauthorizedError PublisherRevokedError AuthFailed'],
  [
    'permanent',
    'integration',
    'InvalidOperationError ArgumentError ArgumentOutOfRangeError MessageSizeExceeded MessageTooLargeError ' +
      'MessagingEntityNotFound MessagingEntityAlreadyExists MessageNotFound NoMatchingSubscriptionError ' +
      'RelayNotFoundError NotImplementedError PreconditionFailed DecodeError InvalidFieldError ResourceDeleted ' +
      'NotAllowed NotFound EntityAlreadyExists',
  ],
  [
    'unknown',
    'integration',
    'InternalServerError InternalError MessagingEntityDisabled EntityDisabled IllegalState',
  ],
]
const flat = rows.flatMap(([category, kind, reasons]) =>
  reasons.split(' ').map((reason) => [reason, category, kind] as const),
)

describe("Service Bus's reasons", () => {
  it.each(flat)('%s is %s, kind %s', (reason, category, kind) => {
    const expected = { category, kind, because: `Service Bus ${reason} is ${category}` }
    expect(fromServiceBus(reason)).toStrictEqual(expected)
    for (const name of ['ServiceBusError', 'MessagingError']) {
      const error = Object.assign(new Error('no'), { name, code: reason })
      expect(classify(error)).toMatchObject({ ...expected, code: reason })
    }
  })

  it('another reason tells nothing', () => {
    for (const reason of ['GeneralError', 'ErrorTimeout', 'BrandNew', '']) {
      expect(fromServiceBus(reason)).toBeUndefined()
    }
    const stranger = Object.assign(new Error('no'), { name: 'StrangerError', code: 'ServiceBusy' })
    expect(classify(stranger)).toMatchObject({ category: 'unknown', code: 'ServiceBusy' })
  })

  it('a general error is asked for the reason in its text', () => {
    expect(generalReason('GeneralError: InvalidOperationError: no')).toBe('InvalidOperationError')
    expect(generalReason('QuotaExceededError: full')).toBe('QuotaExceededError')
    expect(generalReason('it is full: no')).toBeUndefined()
    expect(generalReason('InvalidOperationError')).toBeUndefined()
    const general = (message: string, code?: string) =>
      classify(Object.assign(new Error(message), { name: 'MessagingError', ...(code && { code }) }))
    expect(general('GeneralError: InvalidOperationError: no', 'GeneralError')).toMatchObject({
      category: 'permanent',
      code: 'InvalidOperationError',
    })
    expect(general('ServerBusyError: no')).toMatchObject({
      category: 'rate-limited',
      code: 'ServerBusyError',
    })
    expect(general('no', 'GeneralError')).toMatchObject({ category: 'unknown', code: 'GeneralError' })
    expect(general('MessageLockLostError: no', 'UnauthorizedAccess')).toMatchObject({ kind: 'auth' })
    expect(general('no')).toMatchObject({ category: 'unknown' })
    expect(general('no')).not.toHaveProperty('code')
  })
})

describe('an AMQP 1.0 condition', () => {
  it.each([
    ['com.microsoft:server-busy', 'ServerBusy', 'rate-limited'],
    ['com.microsoft:session-lock-lost', 'SessionLockLost', 'transient'],
    ['amqp:not-allowed', 'NotAllowed', 'permanent'],
    ['amqp:link:detach-forced', 'DetachForced', 'transient'],
    ['amqp:connection:forced', 'Forced', 'transient'],
  ])('%s is %s, %s', (condition, reason, category) => {
    expect(conditionReason(condition)).toBe(reason)
    expect(classify({ condition, description: 'no' })).toMatchObject({
      category,
      code: reason,
      message: 'no',
    })
  })

  it.each(['', 'amqp:', 'amqp:a:b:c', 'an amqp:not-allowed', 'amqp:not-allowed!', 'http:busy', 'amqp:Busy'])(
    "'%s' is none",
    (condition) => {
      expect(conditionReason(condition)).toBeUndefined()
    },
  )
})
