import { grpcName } from './grpc.ts'
import { isObject, look, textOf, word } from './look.ts'
import type { Reply } from './replies.ts'
import { conditionReason, generalReason } from './servicebus.ts'
import { sqliteName } from './sqlite.ts'

/** Knows by its shape which protocol an error speaks, whatever copy or version of a client library has made it. */
export const replyOf = (value: object, name: string, message: string): Reply | undefined => {
  for (const speaks of DIALECTS) {
    const reply = speaks(value, name, message)
    if (reply) return { ...reply, code: word(reply.code) }
  }
  return undefined
}

type Dialect = (value: object, name: string, message: string) => Reply | undefined

const mail: Dialect = (value) => {
  const code = look(value, 'responseCode')
  const talk = textOf(value, 'command') ?? textOf(value, 'response')
  return typeof code === 'number' && talk !== undefined ? { protocol: 'SMTP', code: String(code) } : undefined
}

const kafka: Dialect = (value) => {
  const code = textOf(value, 'code')
  if (!code?.startsWith('PLT_KFK_')) return undefined
  const canRetry = look(value, 'canRetry') === true
  return { protocol: 'Kafka', code: textOf(value, 'apiId') ?? code, canRetry }
}

const AMQP_REPLY = /(?:^|[:;] )([2-5]\d\d) \([A-Z-]+\) with message "/

const amqp: Dialect = (value, _, message) => {
  const code = look(value, 'code')
  if (typeof code === 'number' && typeof look(value, 'methodId') === 'number') {
    return { protocol: 'AMQP', code: String(code) }
  }
  const spoken = AMQP_REPLY.exec(message)?.[1]
  return spoken === undefined ? undefined : { protocol: 'AMQP', code: spoken }
}

const grpc: Dialect = (value, _, text) => {
  const code = look(value, 'code')
  if (typeof code !== 'number' || typeof look(value, 'details') !== 'string') return undefined
  const spoken = isObject(look(value, 'metadata')) ? grpcName(code) : undefined
  return spoken === undefined ? undefined : { protocol: 'gRPC', code: spoken, text }
}

const STATE = /^[0-9A-Z]{5}$/

/** `severity` keeps Node's EPIPE and the like apart; who has a `sqlState` means it. */
const sql: Dialect = (value, _, text) => {
  const severe = textOf(value, 'severity') !== undefined
  const code = textOf(value, 'sqlState') ?? (severe ? textOf(value, 'code') : undefined)
  return code !== undefined && STATE.test(code) ? { protocol: 'SQLSTATE', code, text } : undefined
}

const SQLITE = /^SQLITE_[A-Z][A-Z_]{1,40}$/

const sqlite: Dialect = (value) => {
  const code = textOf(value, 'code')
  const result = look(value, 'errcode')
  if (code === 'ERR_SQLITE_ERROR' && typeof result === 'number' && Number.isInteger(result)) {
    return { protocol: 'SQLite', code: sqliteName(result) }
  }
  return code !== undefined && SQLITE.test(code) ? { protocol: 'SQLite', code } : undefined
}

const aws: Dialect = (value, name, text) =>
  isObject(look(value, '$metadata')) && textOf(value, '$fault') !== undefined
    ? { protocol: 'AWS', code: name, text }
    : undefined

const serviceBus: Dialect = (value, name, message) => {
  const condition = conditionReason(textOf(value, 'condition') ?? '')
  if (condition !== undefined) return { protocol: 'Service Bus', code: condition }
  if (name !== 'ServiceBusError' && name !== 'MessagingError') return undefined
  const code = textOf(value, 'code')
  const told = code === undefined || code === 'GeneralError' ? (generalReason(message) ?? code) : code
  return told === undefined ? undefined : { protocol: 'Service Bus', code: told }
}

const DIALECTS: readonly Dialect[] = [mail, kafka, amqp, grpc, sql, sqlite, aws, serviceBus]
