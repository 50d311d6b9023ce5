import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { fromCode, fromName, fromOurs, fromText } from './codes.ts'
import type { Category, Kind } from './failure.ts'
import { fromStatus } from './http.ts'

const found = (what: string, category: Category, kind: Kind = 'integration') => ({
  category,
  kind,
  because: `${what} is ${category}`,
})

const each = (text: string): string[] => text.split(' ')

describe('the words of Node and of its clients', () => {
  it.each(
    each(
      'ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ENOTFOUND EAI_AGAIN ENETUNREACH EHOSTUNREACH ENETDOWN ' +
        'EHOSTDOWN ENETRESET ENOTCONN EADDRNOTAVAIL ENOBUFS EMFILE ENFILE EAGAIN UND_ERR_SOCKET UND_ERR_CLOSED ' +
        'UND_ERR_DESTROYED UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_PRX_CONN UND_ERR_BPL_MISSING_UPSTREAM ' +
        'ERR_STREAM_PREMATURE_CLOSE ERR_SOCKET_CLOSED ERR_HTTP2_GOAWAY_SESSION ERR_HTTP2_STREAM_CANCEL ' +
        'ECONNECTION ESOCKET EDNS ESERVFAIL',
    ),
  )('%s: a connection that failed', (code) => {
    expect(fromCode(code, 'no')).toStrictEqual(found(code, 'transient'))
  })

  it.each(
    each(
      'ETIMEDOUT ESOCKETTIMEDOUT ETIMEOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT ' +
        'ERR_SOCKET_CONNECTION_TIMEOUT',
    ),
  )('%s: it took too long', (code) => {
    expect(fromCode(code, 'no')).toStrictEqual(found(code, 'transient', 'timeout'))
  })

  it.each(
    each(
      'ERR_INVALID_ARG_TYPE ERR_INVALID_ARG_VALUE ERR_OUT_OF_RANGE ERR_BUFFER_OUT_OF_BOUNDS ERR_MISSING_ARGS ' +
        'ERR_INVALID_URL ERR_INVALID_URL_SCHEME ERR_INVALID_PROTOCOL ERR_INVALID_CHAR ERR_INVALID_HTTP_TOKEN ' +
        'ERR_HTTP_INVALID_HEADER_VALUE ERR_UNESCAPED_CHARACTERS ERR_SOCKET_BAD_PORT UND_ERR_INVALID_ARG',
    ),
  )('%s: an illegal argument', (code) => {
    expect(fromCode(code, 'no')).toStrictEqual(found(code, 'permanent', 'handler'))
  })

  it.each([
    ['EENVELOPE', 'permanent', 'integration'],
    ['EMESSAGE', 'permanent', 'integration'],
    ['EAUTH', 'permanent', 'auth'],
    ['ENOAUTH', 'permanent', 'auth'],
    ['ERR_ENCODING_INVALID_ENCODED_DATA', 'permanent', 'schema'],
    ['Z_DATA_ERROR', 'permanent', 'schema'],
    ['Z_NEED_DICT', 'permanent', 'schema'],
  ] as const)('%s is %s, kind %s', (code, category, kind) => {
    expect(fromCode(code, 'no')).toStrictEqual(found(code, category, kind))
  })

  it.each(each('ABORT_ERR UND_ERR_ABORTED UND_ERR_ABORT ERR_CANCELED'))(
    '%s says less than its cause',
    (code) => {
      expect(fromCode(code, 'no')).toStrictEqual({ ...found(code, 'transient', 'timeout'), weak: true })
      const cause = Object.assign(new Error('no'), { status: 404 })
      expect(classify(Object.assign(new Error('stopped', { cause }), { code })).category).toBe('permanent')
    },
  )

  it('a network error says less than its cause', () => {
    expect(fromCode('ERR_NETWORK', 'no')).toStrictEqual({ ...found('ERR_NETWORK', 'transient'), weak: true })
  })

  it('a cut connection is a timeout only where axios says so', () => {
    expect(fromCode('ECONNABORTED', 'timeout of 30ms exceeded')).toStrictEqual(
      found('a timeout', 'transient', 'timeout'),
    )
    expect(fromCode('ECONNABORTED', 'no timeout of 30ms exceeded')!.kind).toBe('integration')
    expect(fromCode('ECONNABORTED', 'timeout of 30ms exceeded, or not')!.kind).toBe('integration')
    expect(fromCode('EPIPE', 'timeout of 30ms exceeded')!.kind).toBe('integration')
  })

  it.each(each('ENOENT EACCES EPERM EISDIR ENOSPC econnreset ERR_INVALID_STATE'))(
    '%s tells nothing',
    (code) => {
      expect(fromCode(code, 'no')).toBeUndefined()
    },
  )
})

describe('the names of errors', () => {
  it.each(
    each(
      'SyntaxError URIError DataCloneError InvalidCharacterError ZodError $ZodError ValiError SchemaError ' +
        'ValidationError StructError TraversalError TypeGuardError ParseError DecodeError YAMLParseError',
    ),
  )('%s: data that does not fit', (name) => {
    expect(fromName(name)).toStrictEqual(found(name, 'permanent', 'schema'))
  })

  it('those that tell of time and of channels', () => {
    expect(fromName('TimeoutError')).toStrictEqual(found('TimeoutError', 'transient', 'timeout'))
    expect(fromName('AbortError')).toStrictEqual({
      ...found('AbortError', 'transient', 'timeout'),
      weak: true,
    })
    expect(fromName('IllegalOperationError')).toStrictEqual(found('a closed AMQP channel', 'transient'))
    for (const name of ['Error', 'TypeError', 'RangeError', 'constructor'])
      expect(fromName(name)).toBeUndefined()
  })

  it('our own codes, as far as they are about the event', () => {
    expect(fromOurs('unavailable')).toStrictEqual(found("'unavailable'", 'transient'))
    expect(fromOurs('closed')).toStrictEqual(found("'closed'", 'transient'))
    expect(fromOurs('bad_event')).toStrictEqual(found("'bad_event'", 'permanent', 'handler'))
    expect(fromOurs('bad_rules')).toBeUndefined()
    expect(fromOurs(undefined)).toBeUndefined()
  })
})

describe('sentences of errors that have no code', () => {
  it.each([
    'Channel ended, no reply will be forthcoming',
    'Socket closed abruptly during opening handshake',
    'Unexpected close',
    'Heartbeat timeout',
    'Connection closed',
    'channel closed',
    'message nacked',
    'stream has been aborted',
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Client was closed and is not queryable',
    'Client has encountered a connection error and is not queryable',
    'The underlying AMQP connection is closed.',
  ])("'%s': a connection that is gone", (message) => {
    expect(fromText(message)).toStrictEqual(found(`'${message}'`, 'transient'))
    expect(fromText(`${message} it said`)).toBeUndefined()
  })

  it.each([
    'timeout expired',
    'Query read timeout',
    'timeout exceeded when trying to connect',
    'Connection terminated due to connection timeout',
  ])("'%s': it took too long", (message) => {
    expect(fromText(message)).toStrictEqual(found(`'${message}'`, 'transient', 'timeout'))
  })

  it.each([
    'Do not know how to serialize a BigInt',
    "Converting circular structure to JSON\n    --> starting at object with constructor 'Object'",
  ])("'%s': what JSON can not hold", (message) => {
    expect(fromText(message)).toStrictEqual(found('what JSON can not hold', 'permanent', 'schema'))
    expect(fromText(`it said: ${message}`)).toBeUndefined()
  })

  it('system calls', () => {
    expect(fromText('connect ETIMEDOUT')).toStrictEqual(found('ETIMEDOUT', 'transient', 'timeout'))
    expect(fromText('it said: read ECONNRESET, at last')).toStrictEqual(found('ECONNRESET', 'transient'))
    expect(fromText('write EPIPE')).toStrictEqual(found('EPIPE', 'transient'))
    expect(fromText('getaddrinfo EAI_AGAIN db')).toStrictEqual(found('EAI_AGAIN', 'transient'))
    for (const text of ['', 'reconnect EPIPE', 'connect to EPIPE', 'open ENOENT', 'connect EPIPEs'])
      expect(fromText(text)).toBeUndefined()
  })
})

it('an HTTP status that is no failure, or none at all, tells nothing', () => {
  for (const status of [0, 200, 399, 600, 1000]) expect(fromStatus(status)).toBeUndefined()
  expect(fromStatus(400)).toStrictEqual(found('HTTP 400', 'permanent'))
  expect(fromStatus(407)).toStrictEqual(found('HTTP 407', 'permanent', 'auth'))
  expect(fromStatus(500)).toStrictEqual(found('HTTP 500', 'unknown'))
  expect(fromStatus(599)).toStrictEqual(found('HTTP 599', 'unknown'))
})
