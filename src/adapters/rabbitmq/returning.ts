import type { Returning } from '../../contracts/transport.ts'
import type { Json } from '../../core/json.ts'
import type { Properties, PublishOptions } from './client.ts'
import { BROKERS, DUE, TRAIL } from './headers.ts'
import { MAX_NAME_BYTES } from './names.ts'
import type { Outgoing } from './write.ts'

/** Where a foreign message is published again, with the properties and headers that it had. */
export interface AddressOfForeign {
  readonly exchange: string
  readonly key: string
  readonly properties: Readonly<Record<string, string | number>>
  readonly headers: Readonly<Record<string, Json>>
}

/** An expiry would only kill it again, and a user id must be that of the connection. */
const KEPT = [
  'contentType',
  'contentEncoding',
  'messageId',
  'correlationId',
  'replyTo',
  'type',
  'appId',
] as const
const KEPT_NUMBERS = ['priority', 'timestamp'] as const

export const addressOf = (exchange: string, key: string, properties: Properties): AddressOfForeign => {
  const headers = Object.entries(properties.headers ?? {}).map(
    ([name, value]) => [name, plain(value)] as const,
  )
  return { exchange, key, properties: kept(properties), headers: Object.fromEntries(headers.filter(travels)) }
}

const kept = (properties: object): AddressOfForeign['properties'] => {
  const all = properties as Readonly<Record<string, unknown>>
  return Object.fromEntries([
    ...KEPT.flatMap((name) => (typeof all[name] === 'string' ? [[name, all[name]]] : [])),
    ...KEPT_NUMBERS.flatMap((name) => (typeof all[name] === 'number' ? [[name, all[name]]] : [])),
  ])
}

const travels = ([name]: readonly [string, unknown]): boolean =>
  !BROKERS.test(name) && name !== TRAIL && name !== DUE

/** Anybody may have written it: an office takes letters from files too, and those that its store had from another broker. */
const isAddress = (address: unknown): address is AddressOfForeign => {
  if (!isRecord(address)) return false
  const { exchange, key, properties, headers } = address
  return isName(exchange) && isName(key) && isRecord(properties) && isRecord(headers)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isName = (value: unknown): value is string =>
  typeof value === 'string' && Buffer.byteLength(value) <= MAX_NAME_BYTES

const BYTES = 'base64:bytes'

/** Header values as JSON, so that a letter can keep them, and back. */
const plain = (value: unknown): Json => {
  if (Buffer.isBuffer(value)) return { [BYTES]: value.toString('base64') }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
  return typeof value === 'bigint' ? String(value) : ((value ?? null) as Json)
}

const rich = (value: Json): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(rich)
  const entries = Object.entries(value as { readonly [name: string]: Json })
  const [only] = entries
  if (entries.length === 1 && only![0] === BYTES) return Buffer.from(String(only![1]), 'base64')
  return Object.fromEntries(entries.map(([name, each]) => [name, rich(each)]))
}

/** undefined: its origin is no place on RabbitMQ. */
export const returningMessage = ({
  origin: { address },
  event,
  headers,
}: Returning): Outgoing | undefined => {
  if (!isAddress(address)) return undefined
  const body = event.data
  const own = Object.fromEntries(Object.entries(address.headers).filter(travels))
  return {
    exchange: address.exchange,
    key: address.key,
    body: body ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : Buffer.alloc(0),
    options: {
      ...kept(address.properties),
      mandatory: true,
      persistent: true,
      headers: { ...(rich(own) as PublishOptions['headers']), ...headers },
    },
  }
}
