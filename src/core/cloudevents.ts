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
/** Batches, and formats other than JSON. */
const OTHER_TYPES = 'application/cloudevents'

/** Binary mode: attributes in headers, data as the body. */
export const toMessage = (event: Event, prefix: string): Message => {
  const headers: Record<string, string> = { ...event.headers }
  for (const name in event.extensions) {
    const value = event.extensions[name]
    if (value !== undefined) headers[prefix + name] = String(value)
  }
  // After the extensions: none of them may pass for the event's own id or type.
  const names = namesOf(prefix)
  headers[names.specversion] = '1.0'
  for (const name of REQUIRED) headers[names[name]] = event[name]
  for (const name of STANDARD) {
    const value = event[name]
    if (value !== undefined) headers[names[name]] = value
  }
  return {
    headers,
    body: event.data,
    ...(event.datacontenttype !== undefined && { contentType: event.datacontenttype }),
  }
}

/** An event (`untyped`: with what others know of it), or a reason why the message claims to be CloudEvents and is not. */
export type Read =
  | { readonly event: Event; readonly untyped?: true; readonly broken?: undefined }
  | { readonly broken: string }

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
  const prefix = prefixes.find((each) => namesOf(each).specversion in message.headers)
  if (prefix === undefined && message.contentType?.toLowerCase().startsWith(OTHER_TYPES)) {
    return { broken: unreadable(message.contentType) }
  }
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
      untyped: true,
    }
  }
  return fromBinary(message, prefix)
}

const unreadable = (type: string): string =>
  `CloudEvents as '${type}' can't be read: one event a message, in binary mode or as ${STRUCTURED_TYPE}`

const fromBinary = ({ contentType, headers, body }: Message, prefix: string): Read => {
  const names = namesOf(prefix)
  const others: Record<string, string> = {}
  const rest: Record<string, string> = {}
  for (const name in headers) {
    if (!name.startsWith(prefix)) rest[name] = headers[name]!
    else if (!names.known.has(name)) others[name.slice(prefix.length)] = headers[name]!
  }
  const known: Known = {
    specversion: headers[names.specversion],
    id: headers[names.id],
    source: headers[names.source],
    type: headers[names.type],
    subject: headers[names.subject],
    time: headers[names.time],
    dataschema: headers[names.dataschema],
  }
  return assemble(known, others, rest, body, contentType ?? headers[names.datacontenttype])
}

type Known = Readonly<
  Partial<Record<'specversion' | 'id' | 'source' | 'type' | 'subject' | 'time' | 'dataschema', unknown>>
>
type Names = Readonly<Record<keyof Known | 'datacontenttype', string>> & {
  readonly known: ReadonlySet<string>
}

/** Header names, made once for each prefix: to join them for every message takes longer than to read it. */
const namesOf = (prefix: string): Names => {
  const there = namesByPrefix.get(prefix)
  if (there) return there
  const names = {
    specversion: `${prefix}specversion`,
    id: `${prefix}id`,
    source: `${prefix}source`,
    type: `${prefix}type`,
    subject: `${prefix}subject`,
    time: `${prefix}time`,
    dataschema: `${prefix}dataschema`,
    // Not where it belongs, but some producers write it there; like `data` it is no extension.
    datacontenttype: `${prefix}datacontenttype`,
  }
  const made = { ...names, known: new Set([...Object.values(names), `${prefix}data`]) }
  namesByPrefix.set(prefix, made)
  return made
}

const namesByPrefix = new Map<string, Names>()

const fromStructured = ({ headers, body }: Message): Read => {
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(body ?? []).toString('utf8'))
  } catch (error) {
    return { broken: `structured CloudEvents body is not JSON: ${(error as Error).message}` }
  }
  return fromJson(parsed, headers)
}

/** Reads the JSON event format. `implied`: the type of data that stands as JSON and names none; null: none. */
export const fromJson = (
  parsed: unknown,
  headers: Readonly<Record<string, string>> = {},
  implied: string | null = 'application/json',
): Read => {
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) {
    return { broken: 'structured CloudEvents body is not a JSON object' }
  }
  const {
    data,
    data_base64,
    datacontenttype,
    specversion,
    id,
    source,
    type,
    subject,
    time,
    dataschema,
    ...others
  } = parsed as Record<string, unknown>
  const known = { specversion, id, source, type, subject, time, dataschema }
  const contentType = typeof datacontenttype === 'string' ? datacontenttype : undefined
  if (typeof data_base64 === 'string') {
    return assemble(known, others, headers, Buffer.from(data_base64, 'base64'), contentType)
  }
  if (data === undefined) return assemble(known, others, headers, null, contentType)
  const text = typeof data === 'string' && !isJsonType(contentType) ? data : written(data)
  if (text === undefined) return { broken: 'CloudEvents data is nested too deeply to be written again' }
  return assemble(known, others, headers, Buffer.from(text), contentType ?? implied ?? undefined)
}

/** What can be read can be nested deeper than what can be written. */
const written = (data: unknown): string | undefined => {
  try {
    return JSON.stringify(data)
  } catch {
    return undefined
  }
}

const assemble = (
  { specversion, id, source, type, subject, time, dataschema }: Known,
  others: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>>,
  data: Uint8Array | null,
  datacontenttype: string | undefined,
): Read => {
  if (specversion !== '1.0') return { broken: `CloudEvents version '${String(specversion)}' is not 1.0` }
  if (!isText(id)) return { broken: `CloudEvents attribute 'id' is missing` }
  if (!isText(source)) return { broken: `CloudEvents attribute 'source' is missing` }
  if (!isText(type)) return { broken: `CloudEvents attribute 'type' is missing` }
  const extensions: Record<string, Attribute> = {}
  for (const name in others) {
    const value = others[name]
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      extensions[name] = value
  }
  const event: Writable<Event> = {
    id,
    source,
    type,
    extensions: extensions as Event['extensions'],
    headers,
    data,
  }
  if (typeof subject === 'string') event.subject = subject
  if (typeof time === 'string') event.time = time
  if (datacontenttype !== undefined) event.datacontenttype = datacontenttype
  if (typeof dataschema === 'string') event.dataschema = dataschema
  return { event }
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** The JSON event format, lossless: data that is JSON stands as JSON when that keeps its bytes, else as base64. */
export const toJson = (event: Event): Record<string, unknown> => {
  const { headers: _, extensions, data, ...attributes } = event
  const json: Record<string, unknown> = { specversion: '1.0', ...attributes }
  for (const name in extensions) {
    // Own names only: an extension may be called `constructor`.
    if (!Object.hasOwn(json, name) && name !== 'data') json[name] = extensions[name]
  }
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
