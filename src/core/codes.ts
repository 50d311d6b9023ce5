import { type Finding, finding } from './finding.ts'

/** Words that tell by themselves: an error's `code`, its name, or a sentence that carries neither. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

// Names of Node's system errors, undici's (fetch), axios's, nodemailer's. What is about files (ENOENT, EACCES …) is absent
// on purpose: waiting does not make a file.
const CONNECTION =
  words(`ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ENOTFOUND EAI_AGAIN ENETUNREACH EHOSTUNREACH
  ENETDOWN EHOSTDOWN ENETRESET ENOTCONN EADDRNOTAVAIL ENOBUFS EMFILE ENFILE EAGAIN UND_ERR_SOCKET UND_ERR_CLOSED
  UND_ERR_DESTROYED UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_PRX_CONN UND_ERR_BPL_MISSING_UPSTREAM
  ERR_STREAM_PREMATURE_CLOSE ERR_SOCKET_CLOSED ERR_HTTP2_GOAWAY_SESSION ERR_HTTP2_STREAM_CANCEL ECONNECTION ESOCKET
  EDNS ESERVFAIL`)
const TIMEOUT = words(`ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT
  UND_ERR_BODY_TIMEOUT ETIMEOUT ERR_SOCKET_CONNECTION_TIMEOUT`)
const ABORTED = words('ABORT_ERR UND_ERR_ABORTED UND_ERR_ABORT ERR_CANCELED')
const REFUSED = words('EENVELOPE EMESSAGE')
const LOGIN = words('EAUTH ENOAUTH')
const UNDECODABLE = words('ERR_ENCODING_INVALID_ENCODED_DATA Z_DATA_ERROR Z_NEED_DICT')

// What an API refused to be called with. The same event brings the same argument, so it is permanent. A TypeError or
// RangeError without such a code is not: it may be any defect, even a stack that was too small.
const ILLEGAL = words(`ERR_INVALID_ARG_TYPE ERR_INVALID_ARG_VALUE ERR_OUT_OF_RANGE ERR_BUFFER_OUT_OF_BOUNDS
  ERR_MISSING_ARGS ERR_INVALID_URL ERR_INVALID_URL_SCHEME ERR_INVALID_PROTOCOL ERR_INVALID_CHAR
  ERR_INVALID_HTTP_TOKEN ERR_HTTP_INVALID_HEADER_VALUE ERR_UNESCAPED_CHARACTERS ERR_SOCKET_BAD_PORT
  UND_ERR_INVALID_ARG`)

// axios tells its timeout by the code of a cut connection
const AXIOS_TIMEOUT = /^timeout of \d{1,12}ms exceeded$/

export const fromCode = (code: string, message: string): Finding | undefined => {
  if (code === 'ECONNABORTED' && AXIOS_TIMEOUT.test(message))
    return finding('a timeout', 'transient', 'timeout')
  // It says no more than that something about the network failed; its cause may.
  if (code === 'ERR_NETWORK') return { ...finding(code, 'transient'), weak: true }
  if (ILLEGAL.has(code)) return finding(code, 'permanent', 'handler')
  if (TIMEOUT.has(code)) return finding(code, 'transient', 'timeout')
  if (CONNECTION.has(code)) return finding(code, 'transient')
  if (ABORTED.has(code)) return { ...finding(code, 'transient', 'timeout'), weak: true }
  if (REFUSED.has(code)) return finding(code, 'permanent')
  if (LOGIN.has(code)) return finding(code, 'permanent', 'auth')
  if (UNDECODABLE.has(code)) return finding(code, 'permanent', 'schema')
  return undefined
}

// A SyntaxError is JSON.parse's (or BigInt's, RegExp's …): the same text will never parse.
const SCHEMA = words(`SyntaxError URIError DataCloneError InvalidCharacterError ZodError $ZodError ValiError
  SchemaError ValidationError StructError TraversalError TypeGuardError ParseError DecodeError YAMLParseError`)

export const fromName = (name: string): Finding | undefined => {
  if (name === 'TimeoutError') return finding(name, 'transient', 'timeout')
  // An aborted operation often carries the reason of the abort as its cause.
  if (name === 'AbortError') return { ...finding(name, 'transient', 'timeout'), weak: true }
  if (SCHEMA.has(name)) return finding(name, 'permanent', 'schema')
  // amqplib, on a channel or connection that has gone
  if (name === 'IllegalOperationError') return finding('a closed AMQP channel', 'transient')
  return undefined
}

/** Codes of our own errors, as far as they say something about the event. */
export const fromOurs = (code: string | undefined): Finding | undefined => {
  if (code === 'unavailable' || code === 'closed') return finding(`'${code}'`, 'transient')
  if (code === 'bad_event' || code === 'bad_usage') return finding(`'${code}'`, 'permanent', 'handler')
  return undefined
}

const SYSCALL = /\b(?:connect|read|write|getaddrinfo) (E[A-Z_]+)\b/
const GONE: ReadonlySet<string> = new Set([
  'Channel ended, no reply will be forthcoming',
  'Socket closed abruptly during opening handshake',
  'Unexpected close',
  'Heartbeat timeout',
  'Connection closed',
  'channel closed',
  'message nacked', // the broker could not take it, a full queue for instance
  'stream has been aborted', // axios, when the answer is cut
  'Connection terminated', // pg, from here on
  'Connection terminated unexpectedly',
  'Client was closed and is not queryable',
  'Client has encountered a connection error and is not queryable',
  'The underlying AMQP connection is closed.', // Service Bus
])
const LATE: ReadonlySet<string> = new Set([
  'timeout expired', // pg's, all of these
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Connection terminated due to connection timeout',
])
const UNSERIALISABLE = /^Converting circular structure to JSON|^Do not know how to serialize a BigInt$/

/** For errors that have no code, as some of amqplib's and pg's: whole sentences, or Node's `connect ETIMEDOUT`. */
export const fromText = (message: string): Finding | undefined => {
  const code = SYSCALL.exec(message)?.[1]
  if (code !== undefined) return fromCode(code, message)
  if (LATE.has(message)) return finding(`'${message}'`, 'transient', 'timeout')
  if (UNSERIALISABLE.test(message)) return finding('what JSON can not hold', 'permanent', 'schema')
  return GONE.has(message) ? finding(`'${message}'`, 'transient') : undefined
}
