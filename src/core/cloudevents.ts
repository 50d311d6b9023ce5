import { type Attribute, type Event, isJsonType } from './event.ts'

/**
 * CloudEvents 1.0 on the wire, in both content modes. A prefix tells the bindings apart: `ce_` on Kafka,
 * `cloudEvents:` on AMQP (where `cloudEvents_` is read too).
 */
export interface Message {
  readonly contentType?: string
  /** Text headers, CloudEvents attributes included. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
}

const STANDARD = ['subject', 'time', 'dataschema'] as const
const REQUIRED = ['id', 'source', 'type'] as const
export const STRUCTURED_TYPE = 'application/cloudevents+json'

/** Binary mode: attributes in headers, data as the body. */
export const toMessage = (event: Event, prefix: string): Message => {
  const headers: Record<string, string> = { ...event.headers }
  headers[`${prefix}specversion`] = '1.0'
  for (const name of REQUIRED) headers[prefix + name] = event[name]
  for (const name of STANDARD) {
    const value = event[name]
    if (value !== undefined) headers[prefix + name] = value
  }
  for (const name in event.extensions) {
    const value = event.extensions[name]
    if (value !== undefined) headers[prefix + name] = String(value)
  }
  return {
    headers,
    body: event.data,
    ...(event.datacontenttype !== undefined && { contentType: event.datacontenttype }),
  }
}

/** An event, or a reason why the message claims to be CloudEvents and is not. */
export type Read = { readonly event: Event; readonly broken?: undefined } | { readonly broken: string }

/**
 * Reads a message in either mode. One that makes no claim to be CloudEvents is a foreign producer's: it
 * becomes an event with what `foreign` knows of it.
 */
export const fromMessage = (
  message: Message,
  prefixes: readonly string[],
  foreign: Pick<Event, 'id' | 'source' | 'type'>,
): Read => {
  if (message.contentType?.toLowerCase().startsWith(STRUCTURED_TYPE)) return fromStructured(message)
  const prefix = prefixes.find((each) => `${each}specversion` in message.headers)
  if (prefix === undefined) {
    const { contentType, headers, body } = message
    return {
      event: {
        ...foreign,
        ...(contentType && { datacontenttype: contentType }),
        extensions: {},
        headers,
        data: body,
      },
    }
  }
  return fromBinary(message, prefix)
}

const fromBinary = ({ contentType, headers, body }: Message, prefix: string): Read => {
  const attributes: Record<string, string> = {}
  const rest: Record<string, string> = {}
  for (const name in headers) {
    if (name.startsWith(prefix)) attributes[name.slice(prefix.length)] = headers[name]!
    else rest[name] = headers[name]!
  }
  return assemble(attributes, rest, body, contentType)
}

const fromStructured = ({ headers, body }: Message): Read => {
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(body ?? []).toString('utf8'))
  } catch (error) {
    return { broken: `structured CloudEvents body is not JSON: ${(error as Error).message}` }
  }
  return fromJson(parsed, headers)
}

/** Reads the JSON event format. */
export const fromJson = (parsed: unknown, headers: Readonly<Record<string, string>> = {}): Read => {
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) {
    return { broken: 'structured CloudEvents body is not a JSON object' }
  }
  const { data, data_base64, datacontenttype, ...attributes } = parsed as Record<string, unknown>
  let bytes: Uint8Array | null = null
  const contentType = typeof datacontenttype === 'string' ? datacontenttype : undefined
  if (typeof data_base64 === 'string') bytes = Buffer.from(data_base64, 'base64')
  else if (data !== undefined) {
    bytes = Buffer.from(typeof data === 'string' && !isJsonType(contentType) ? data : JSON.stringify(data))
  }
  return assemble(attributes, headers, bytes, contentType ?? (bytes && 'application/json') ?? undefined)
}

const assemble = (
  attributes: Record<string, unknown>,
  headers: Readonly<Record<string, string>>,
  data: Uint8Array | null,
  datacontenttype: string | undefined,
): Read => {
  const { specversion, id, source, type, subject, time, dataschema, ...others } = attributes
  if (specversion !== '1.0') return { broken: `CloudEvents version '${String(specversion)}' is not 1.0` }
  for (const [name, value] of [
    ['id', id],
    ['source', source],
    ['type', type],
  ] as const) {
    if (typeof value !== 'string' || value === '')
      return { broken: `CloudEvents attribute '${name}' is missing` }
  }
  const extensions: Record<string, Attribute> = {}
  for (const name in others) {
    const value = others[name]
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      extensions[name] = value
  }
  return {
    event: {
      id: id as string,
      source: source as string,
      type: type as string,
      ...(typeof subject === 'string' && { subject }),
      ...(typeof time === 'string' && { time }),
      ...(datacontenttype !== undefined && { datacontenttype }),
      ...(typeof dataschema === 'string' && { dataschema }),
      extensions: extensions as Event['extensions'],
      headers,
      data,
    },
  }
}

/** The JSON event format, lossless: data that is JSON stands as JSON when that keeps its bytes, else as base64. */
export const toJson = (event: Event): Record<string, unknown> => {
  const { headers: _, extensions, data, ...attributes } = event
  const json: Record<string, unknown> = { specversion: '1.0', ...attributes, ...extensions }
  if (data === null) return json
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  if (isJsonType(event.datacontenttype)) {
    try {
      const parsed: unknown = JSON.parse(bytes.toString('utf8'))
      if (Buffer.from(JSON.stringify(parsed)).equals(bytes)) return { ...json, data: parsed }
    } catch {
      // not JSON after all: its bytes are kept as they are
    }
  }
  return { ...json, data_base64: bytes.toString('base64') }
}
