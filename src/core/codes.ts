import { type Finding, finding } from './finding.ts'

/** Words that tell by themselves: an error's `code`, its name, or a sentence that carries neither. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

// Names of Node's system errors, undici's (fetch), nodemailer's. What is about files (ENOENT, EACCES …) is absent on
// purpose: waiting does not make a file.
const CONNECTION =
  words(`ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ENOTFOUND EAI_AGAIN ENETUNREACH EHOSTUNREACH
  ENETDOWN EHOSTDOWN ENETRESET ENOTCONN EADDRNOTAVAIL ENOBUFS EMFILE ENFILE EAGAIN UND_ERR_SOCKET UND_ERR_CLOSED
  UND_ERR_DESTROYED ECONNECTION ESOCKET EDNS`)
const TIMEOUT = words(`ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT
  UND_ERR_BODY_TIMEOUT ETIMEOUT`)
const ABORTED = words('ABORT_ERR UND_ERR_ABORTED')
const REFUSED = words('EENVELOPE EMESSAGE')
const LOGIN = words('EAUTH ENOAUTH')
const UNDECODABLE = words('ERR_ENCODING_INVALID_ENCODED_DATA')

export const fromCode = (code: string): Finding | undefined => {
  if (TIMEOUT.has(code)) return finding(code, 'transient', 'timeout')
  if (CONNECTION.has(code)) return finding(code, 'transient')
  if (ABORTED.has(code)) return { ...finding(code, 'transient', 'timeout'), weak: true }
  if (REFUSED.has(code)) return finding(code, 'permanent')
  if (LOGIN.has(code)) return finding(code, 'permanent', 'auth')
  if (UNDECODABLE.has(code)) return finding(code, 'permanent', 'schema')
  return undefined
}

// A SyntaxError is JSON.parse's (or BigInt's, RegExp's …): the same text will never parse.
const SCHEMA = words('SyntaxError ZodError $ZodError ValiError SchemaError ValidationError YAMLParseError')

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
  if (code === 'bad_event') return finding(`'${code}'`, 'permanent', 'handler')
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
])

/** For errors that have no code, as some of amqplib's: whole sentences, or Node's `connect ETIMEDOUT`. */
export const fromText = (message: string): Finding | undefined => {
  const [, code] = SYSCALL.exec(message) ?? []
  if (code !== undefined) return fromCode(code)
  return GONE.has(message) ? finding(`'${message}'`, 'transient') : undefined
}
