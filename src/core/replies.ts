import { fromAws } from './aws.ts'
import { type Finding, finding } from './finding.ts'
import { fromGrpc } from './grpc.ts'
import { fromServiceBus } from './servicebus.ts'
import { fromSqlite } from './sqlite.ts'
import { fromSqlState } from './sqlstate.ts'

/** What the other side said in its own protocol. Some of these numbers look like HTTP and are not. */
export interface Reply {
  readonly protocol: 'SMTP' | 'AMQP' | 'Kafka' | 'gRPC' | 'SQLSTATE' | 'SQLite' | 'AWS' | 'Service Bus'
  readonly code: string
  /** Where the code alone does not tell all. */
  readonly text?: string
  /** What the client library thinks of it. */
  readonly canRetry?: boolean | undefined
}

export const fromReply = ({ protocol, code, text = '', canRetry }: Reply): Finding | undefined => {
  switch (protocol) {
    case 'SMTP':
      return fromMail(Number(code))
    case 'AMQP':
      return fromAmqp(Number(code))
    case 'Kafka':
      return fromKafka(code, canRetry)
    case 'gRPC':
      return fromGrpc(code, text)
    case 'SQLSTATE':
      return fromSqlState(code, text)
    case 'SQLite':
      return fromSqlite(code)
    case 'AWS':
      return fromAws(code, text)
    case 'Service Bus':
      return fromServiceBus(code)
  }
}

const LOGIN: ReadonlySet<number> = new Set([530, 534, 535, 538])

const fromMail = (code: number): Finding | undefined => {
  const what = `SMTP ${code}`
  if (code >= 400 && code < 500) return finding(what, 'transient')
  if (LOGIN.has(code)) return finding(what, 'permanent', 'auth')
  // 'bad sequence of commands' blames the session, not the mail: a new connection may do.
  if (code === 503) return finding(what, 'transient')
  return code >= 500 && code < 600 ? finding(what, 'permanent') : undefined
}

const AMQP: ReadonlyMap<number, Finding> = new Map([
  [311, finding('AMQP 311 (content too large)', 'permanent')],
  [320, finding('AMQP 320 (connection forced)', 'transient')],
  [402, finding('AMQP 402 (invalid path)', 'permanent', 'auth')],
  [403, finding('AMQP 403 (access refused)', 'permanent', 'auth')],
  [404, finding('AMQP 404 (not found)', 'permanent')],
  [405, finding('AMQP 405 (resource locked)', 'transient')], // until its holder lets go
  [406, finding('AMQP 406 (precondition failed)', 'permanent')],
  [506, finding('AMQP 506 (resource error)', 'transient')],
  [530, finding('AMQP 530 (not allowed)', 'permanent', 'auth')],
  [540, finding('AMQP 540 (not implemented)', 'permanent')],
])

const fromAmqp = (code: number): Finding => AMQP.get(code) ?? finding(`AMQP ${code}`, 'unknown')

const KAFKA: ReadonlyMap<string, Finding> = new Map([
  ['THROTTLING_QUOTA_EXCEEDED', finding('Kafka THROTTLING_QUOTA_EXCEEDED', 'rate-limited')],
  ['REQUEST_TIMED_OUT', finding('Kafka REQUEST_TIMED_OUT', 'transient', 'timeout')],
])

// The client may not retry these on its own; a new attempt after a rejoin or an abort may.
const PASSING = new Set(
  `BROKER_NOT_AVAILABLE REBALANCE_IN_PROGRESS ILLEGAL_GENERATION UNKNOWN_MEMBER_ID MEMBER_ID_REQUIRED
   FENCED_MEMBER_EPOCH STALE_MEMBER_EPOCH NEW_LEADER_ELECTED TRANSACTION_ABORTABLE`.split(/\s+/),
)

// What the broker will refuse again. Other codes that the client may not retry blame its state (a fenced producer, a lost
// sequence), not the record: they stay unknown.
const REFUSED = new Set(
  `MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_TOPIC_EXCEPTION INVALID_RECORD INVALID_TIMESTAMP INVALID_REQUEST
   INVALID_REQUIRED_ACKS INVALID_CONFIG POLICY_VIOLATION UNSUPPORTED_VERSION UNSUPPORTED_FOR_MESSAGE_FORMAT
   UNSUPPORTED_COMPRESSION_TYPE PLT_KFK_USER PLT_KFK_UNSUPPORTED PLT_KFK_UNSUPPORTED_API
   PLT_KFK_UNSUPPORTED_FORMAT PLT_KFK_UNSUPPORTED_COMPRESSION`.split(/\s+/),
)

const NOT_ALLOWED =
  /AUTHORIZATION_FAILED$|^SASL_AUTHENTICATION_FAILED$|SASL_MECHANISM$|^PLT_KFK_AUTHENTICATION$/

const fromKafka = (code: string, canRetry: boolean | undefined): Finding => {
  const what = `Kafka ${code}`
  const known = KAFKA.get(code)
  if (known) return known
  if (NOT_ALLOWED.test(code)) return finding(what, 'permanent', 'auth')
  // A connection that failed may have failed for a reason of its own, wrong credentials for instance.
  if (code === 'PLT_KFK_NETWORK') return { ...finding(what, 'transient'), weak: true }
  if (code === 'PLT_KFK_MULTIPLE' || code === 'PLT_KFK_RESPONSE') {
    return { ...finding(what, 'unknown'), weak: true }
  }
  if (canRetry || PASSING.has(code)) return finding(what, 'transient')
  return finding(what, REFUSED.has(code) ? 'permanent' : 'unknown')
}
