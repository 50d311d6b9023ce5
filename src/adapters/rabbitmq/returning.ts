import type { Returning } from '../../contracts/transport.ts'
import type { Json } from '../../core/json.ts'
import type { Properties, PublishOptions } from './client.ts'
import { BROKERS, DUE, TRAIL } from './headers.ts'
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
  const all = properties as Readonly<Record<string, unknown>>
  const kept = Object.fromEntries([
    ...KEPT.flatMap((name) => (typeof all[name] === 'string' ? [[name, all[name]]] : [])),
    ...KEPT_NUMBERS.flatMap((name) => (typeof all[name] === 'number' ? [[name, all[name]]] : [])),
  ])
  const headers = Object.entries(properties.headers ?? {}).flatMap(([name, value]) =>
    BROKERS.test(name) || name === TRAIL || name === DUE ? [] : [[name, plain(value)] as const],
  )
  return { exchange, key, properties: kept, headers: Object.fromEntries(headers) }
}

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

export const returningMessage = ({ origin, event, headers }: Returning): Outgoing => {
  const address = origin.address as unknown as AddressOfForeign
  const body = event.data
  return {
    exchange: address.exchange,
    key: address.key,
    body: body ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : Buffer.alloc(0),
    options: {
      ...address.properties,
      mandatory: true,
      persistent: true,
      headers: { ...(rich(address.headers) as PublishOptions['headers']), ...headers },
    },
  }
}
