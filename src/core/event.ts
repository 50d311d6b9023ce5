import { hash } from 'node:crypto'
import { ReprieveError } from './error.ts'

/**
 * What happened, immutable: a CloudEvents 1.0 event whose data is still the bytes that travelled. Nothing
 * between publish and handler decodes them, so what arrives is what was sent.
 */
export interface Event {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly subject?: string
  /** RFC 3339, as the producer wrote it. */
  readonly time?: string
  readonly datacontenttype?: string
  readonly dataschema?: string
  /** CloudEvents extension attributes; ours are named in `Extensions`. */
  readonly extensions: Extensions
  /** Headers of the message that are not CloudEvents attributes; kept and passed on. */
  readonly headers: Readonly<Record<string, string>>
  /** null: the event has no data at all, which is not the same as empty data. */
  readonly data: Uint8Array | null
}

export type Attribute = string | number | boolean

export interface Extensions {
  /** Events with the same order key are handled in the order they were published, where the rules ask. */
  readonly orderkey?: string
  readonly correlationid?: string
  readonly priority?: Priority
  /** RFC 3339; past it the event is no longer worth handling. */
  readonly expirytime?: string
  readonly [name: string]: Attribute | undefined
}

export type Priority = 'low' | 'normal' | 'high' | 'critical'

/** What every transport can carry: attributes and headers together; larger is refused at publish. */
export const MAX_ATTRIBUTES_BYTES = 16 * 1024
export const MAX_DATA_BYTES = 4 * 1024 * 1024

const ATTRIBUTE_NAME = /^[a-z0-9]{1,40}$/
const STANDARD: ReadonlySet<string> = new Set([
  ...['specversion', 'id', 'source', 'type', 'subject', 'time'],
  ...['datacontenttype', 'dataschema', 'data', 'data_base64'],
])
const PRIORITIES: readonly string[] = ['low', 'normal', 'high', 'critical']

/** Throws `bad_event`, naming the attribute at fault, unless every transport can carry the event whole. */
export const checkEvent = (event: Event): void => {
  for (const name of ['id', 'source', 'type'] as const) {
    if (typeof event[name] !== 'string' || event[name] === '') {
      refuse(event, `its attribute '${name}' is ${event[name] === '' ? 'empty' : 'missing'}`)
    }
  }
  for (const name of ['subject', 'time', 'datacontenttype', 'dataschema'] as const) {
    if (event[name] !== undefined && typeof event[name] !== 'string')
      refuse(event, `its attribute '${name}' is no text`)
  }
  for (const name of ['extensions', 'headers'] as const) {
    if (typeof event[name] !== 'object' || event[name] === null)
      refuse(event, `its ${name} are no object: write {} where there are none`)
  }
  if (event.data !== null && !(event.data instanceof Uint8Array))
    refuse(event, 'its data are no bytes: encode them, or write null where there are none')
  const { id, source, type, subject = '', time = '', datacontenttype = '', dataschema = '' } = event
  let bytes = Buffer.byteLength([id, source, type, subject, time, datacontenttype, dataschema].join(''))
  for (const [name, value] of Object.entries(event.extensions)) {
    if (value === undefined) continue
    if (!ATTRIBUTE_NAME.test(name)) {
      refuse(
        event,
        `the extension attribute '${name}' may hold only lower-case letters and digits, at most 40`,
      )
    }
    if (STANDARD.has(name))
      refuse(event, `the extension attribute '${name}' has the name of a CloudEvents attribute`)
    bytes += name.length + Buffer.byteLength(String(value))
  }
  const { priority } = event.extensions
  if (priority !== undefined && !PRIORITIES.includes(priority)) {
    refuse(event, `its priority '${priority}' is none of ${PRIORITIES.join(', ')}`)
  }
  for (const [name, value] of Object.entries(event.headers)) {
    if (typeof value !== 'string') refuse(event, `its header '${name}' is no text`)
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  }
  if (bytes > MAX_ATTRIBUTES_BYTES) {
    refuse(
      event,
      `its attributes and headers take ${bytes} bytes, at most ${MAX_ATTRIBUTES_BYTES} can travel`,
    )
  }
  if (event.data && event.data.byteLength > MAX_DATA_BYTES) {
    refuse(event, `its data takes ${event.data.byteLength} bytes, at most ${MAX_DATA_BYTES} can travel`)
  }
}

const refuse = (event: Event, why: string): never => {
  throw new ReprieveError(
    'bad_event',
    `event ${short(event.id) || '(no id)'} of type ${short(event.type) || '(no type)'}: ${why}`,
  )
}

/** An id may be what is too long. */
const short = (text: unknown): string => {
  const whole = String(text ?? '')
  return whole.length > 100 ? `${whole.slice(0, 100)}…` : whole
}

/** The event's data as JSON text or bytes made ready to travel. */
export const encodeData = (data: unknown): { data: Uint8Array | null; datacontenttype?: string } => {
  if (data === undefined) return { data: null }
  if (data instanceof Uint8Array) return { data, datacontenttype: 'application/octet-stream' }
  const text = JSON.stringify(data)
  if (text === undefined) throw new TypeError(`a ${typeof data} is no JSON`)
  return { data: Buffer.from(text), datacontenttype: 'application/json' }
}

const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i
const TEXT_TYPE = /^text\//i

export const isJsonType = (contentType: string | undefined): boolean =>
  contentType === undefined || contentType === 'application/json' || JSON_TYPE.test(contentType)

/** The value a handler sees. Throws SyntaxError where the bytes are not what the content type says. */
export const decodeData = (event: Event): unknown => {
  const { data, datacontenttype: type = 'application/json' } = event
  if (data === null) return undefined
  if (isJsonType(type)) return JSON.parse(utf8.decode(data))
  return TEXT_TYPE.test(type) ? utf8.decode(data) : data
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Of the bytes that travel: tells payloads apart where events have the same id. '' where there are none. */
export const payloadHash = (data: Uint8Array | null): string =>
  data === null ? '' : hash('sha256', data, 'base64url').slice(0, 22)
