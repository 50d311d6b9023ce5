import { type Finding, finding } from './finding.ts'

/**
 * Errors of the AWS SDK. Most say enough by their HTTP status, and are left to it; not these, since AWS sends 400 for
 * being throttled as well as for being wrong. SQS:
 *
 *   unavailable          transient, by its status 503       invalid parameter   permanent
 *   throttled            rate-limited                       access denied       permanent, auth
 *   visibility expired   transient: it will come again      no such queue       permanent
 *   not in flight        the same
 */
export const fromAws = (name: string, text: string): Finding | undefined => {
  const what = `AWS ${name}`
  const code = name.replace(/^AWS\.SimpleQueueService\./, '').replace(/(?:Exception|Fault)$/, '')
  if (THROTTLED.has(code)) return finding(what, 'rate-limited')
  if (PASSING.has(code)) return finding(what, 'transient')
  if (TIMEOUT.has(code)) return finding(what, 'transient', 'timeout')
  if (LOGIN.has(code)) return finding(what, 'permanent', 'auth')
  // There is no code of its own for a handle whose time was up: the reason is in the text.
  if (ABOUT_HANDLE.has(code) && EXPIRED.test(text))
    return finding(`${what} (visibility expired)`, 'transient')
  return undefined
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

const THROTTLED = words(`Throttling Throttled RequestThrottled ThrottledRequest TooManyRequests SlowDown
  RequestLimitExceeded BandwidthLimitExceeded ProvisionedThroughputExceeded LimitExceeded PriorRequestNotComplete
  EC2Throttled KmsThrottled OverLimit`)
const PASSING = words(`MessageNotInflight PurgeQueueInProgress QueueDeletedRecently TransactionInProgress
  ServiceUnavailable`)
const TIMEOUT = words('RequestTimeout RequestTimeoutError')
const LOGIN = words(`AccessDenied KmsAccessDenied KmsOptInRequired OptInRequired NotAuthorized Unauthorized
  UnauthorizedOperation AuthFailure ExpiredToken ExpiredTokenId InvalidClientTokenId UnrecognizedClient
  IncompleteSignature SignatureDoesNotMatch InvalidSignature MissingAuthenticationToken InvalidAccessKeyId
  InvalidSecurity RequestExpired`)
const ABOUT_HANDLE = words('InvalidParameterValue ReceiptHandleIsInvalid')
const EXPIRED = /receipt handle has expired|not available for visibility timeout change/i
