import { type Finding, finding } from './finding.ts'

/**
 * Errors of the Azure Service Bus SDK, by its reasons (`MessageLockLost`) and by those of the AMQP library below it
 * (`MessageLockLostError`). The SDK's own `retryable` is not asked: it says whether the same call may be made again, so
 * a lost lock is not and a wrong key is, where for an event it is the other way round.
 *
 *   busy                                 rate-limited: so it tells who sends too much
 *   unavailable, timeout, lock lost,     transient
 *   quota exceeded (until it is read)
 *   invalid operation, argument …        permanent
 *   unauthorised                         permanent, auth
 */
export const fromServiceBus = (reason: string): Finding | undefined => {
  const what = `Service Bus ${reason}`
  const code = reason.replace(/Error$/, '')
  if (BUSY.has(code)) return finding(what, 'rate-limited')
  if (TIMEOUT.has(code)) return finding(what, 'transient', 'timeout')
  if (PASSING.has(code)) return finding(what, 'transient')
  if (LOGIN.has(code)) return finding(what, 'permanent', 'auth')
  if (REFUSED.has(code)) return finding(what, 'permanent')
  return UNKNOWN.has(code) ? finding(what, 'unknown') : undefined
}

/** Of a `GeneralError` only the text knows the reason: `GeneralError: InvalidOperationError: …` */
export const generalReason = (text: string): string | undefined =>
  /^(?:GeneralError: ){0,3}(\w{1,60}): /.exec(text)?.[1]

const CONDITION = /^(?:amqp|com\.microsoft):(?:[a-z]{1,20}:)?([a-z-]{1,60})$/

/** `com.microsoft:session-lock-lost`, which some calls of the SDK throw as it came, becomes `SessionLockLost`. */
export const conditionReason = (condition: string): string | undefined =>
  CONDITION.exec(condition)?.[1]
    ?.split('-')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

const BUSY = words('ServiceBusy ServerBusy')
// ServiceUnavailable is what the AMQP library calls com.microsoft:timeout
const TIMEOUT = words('ServiceTimeout OperationTimeout ServiceUnavailable MessageWaitTimeout Timeout')
const PASSING =
  words(`ServiceCommunicationProblem ServiceCommunication MessageLockLost SessionLockLost StoreLockLost
  QuotaExceeded SessionCannotBeLocked DetachForced ConnectionForced OperationCancelled SenderBusy SenderNotReady
  TransferLimitExceeded InsufficientCredit ResourceLocked ReceiverDisconnected LinkRedirect ConnectionRedirect
  ResourceLimitExceeded Forced Stolen`)
const LOGIN = words('UnauthorizedAccess Unauthorized PublisherRevoked AuthFailed')
const REFUSED = words(`InvalidOperation Argument ArgumentOutOfRange MessageSizeExceeded MessageTooLarge
  MessagingEntityNotFound MessagingEntityAlreadyExists MessageNotFound NoMatchingSubscription RelayNotFound
  NotImplemented PreconditionFailed Decode InvalidField ResourceDeleted
  NotAllowed NotFound EntityAlreadyExists`)
// Disabled was done by hand and can be undone by hand: burying at once all that comes meanwhile would be too much.
const UNKNOWN = words('InternalServer Internal MessagingEntityDisabled EntityDisabled IllegalState')
