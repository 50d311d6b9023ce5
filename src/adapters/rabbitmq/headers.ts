import { textIn } from '../../core/binary-text.ts'
import { STRUCTURED_TYPE } from '../../core/cloudevents.ts'
import type { Event } from '../../core/event.ts'

/** CloudEvents' own prefix in AMQP, and the one for clients that can't send a colon. */
export const PREFIX = 'cloudEvents:'
export const PREFIXES = [PREFIX, 'cloudEvents_'] as const
const COMMON = 'cloudEvents'
const VERSIONS = PREFIXES.map((prefix) => `${prefix}specversion`)

/** Whether the headers claim that the message is a CloudEvent in binary mode. */
export const isBinary = (headers: Readonly<Record<string, unknown>>): boolean =>
  VERSIONS.some((version) => headers[version] !== undefined)

/** Our bookkeeping. None of it is shown in an event's headers. */
const OURS = 'x-reprieve-'
export const TRAIL = `${OURS}trail`
export const DUE = `${OURS}due`
export const BROKEN = `${OURS}broken`
/** Of a copy: what it was made of had been handed over before. Else nobody would ask the ledger what became of it then. */
export const AGAIN = `${OURS}again`
export const DATA = `${OURS}data`
export const EMPTY = 'empty'
/** The content type, where the AMQP property can't hold it or would make the message a structured one. */
export const TYPE = `${OURS}type`
/** An event's header whose name means something to the broker or to us travels under this beginning. */
const ESCAPED = `${OURS}header-`

/** What the broker writes, or acts on: it must not travel on with a copy. */
export const BROKERS = /^(?:x-death|x-(?:first|last)-death-|x-delivery-count|x-acquired-count|B?CC$)/

export const isStructured = (contentType: string | undefined): boolean =>
  contentType?.toLowerCase().startsWith(STRUCTURED_TYPE) ?? false

export const typeIsPlain = (contentType: string): boolean =>
  !isStructured(contentType) && (contentType.length <= 80 || Buffer.byteLength(contentType) <= 255)

const isReserved = (name: string): boolean =>
  name.startsWith(OURS) || BROKERS.test(name) || PREFIXES.some((prefix) => name.startsWith(prefix))

/** The event with headers that neither the broker nor a reader will take for something else. */
export const escapeHeaders = (event: Event): Event => {
  let reserved = false
  for (const name in event.headers) reserved ||= isReserved(name)
  if (!reserved) return event
  const headers: Record<string, string> = {}
  for (const name in event.headers) {
    headers[isReserved(name) ? ESCAPED + name : name] = event.headers[name]!
  }
  return { ...event, headers }
}

export interface Text {
  readonly headers: Readonly<Record<string, string>>
  /** Headers of the event that had to travel under another name. */
  readonly escaped: Record<string, string> | undefined
}

/** The headers of a message as text, without the broker's and our own. */
export const textHeaders = (raw: Readonly<Record<string, unknown>>): Text => {
  const headers: Record<string, string> = {}
  let escaped: Record<string, string> | undefined
  for (const name in raw) {
    const value = raw[name]
    if (name.startsWith(COMMON)) headers[name] = asText(value)
    else if (name.startsWith(OURS)) {
      if (!name.startsWith(ESCAPED)) continue
      escaped ??= {}
      escaped[name.slice(ESCAPED.length)] = asText(value)
    } else if (!BROKERS.test(name)) headers[name] = asText(value)
  }
  return { headers, escaped }
}

/** Attributes of CloudEvents in binary mode and nothing else: nothing to leave out, to change, or to measure. */
export const isPlain = (raw: Readonly<Record<string, unknown>>): raw is Record<string, string> => {
  if (!isBinary(raw)) return false
  let size = 0
  for (const name in raw) {
    const value = raw[name]
    if (typeof value !== 'string' || !name.startsWith(COMMON)) return false
    size += name.length + value.length
  }
  return size < SMALL
}

/** Of characters: far from what can't travel. */
const SMALL = 8000

/** What we write ourselves is text. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const asText = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (Buffer.isBuffer(value)) return textIn(value)
  if (typeof value !== 'object' || value === null) return String(value)
  // how the client shows AMQP's own types
  const typed = value as { '!'?: unknown; value?: unknown }
  return typed['!'] === 'timestamp' ? timeOf(typed.value) : JSON.stringify(value)
}

/** AMQP counts seconds; what is no date for us stays a number. */
export const timeOf = (seconds: unknown): string => {
  const date = new Date(Number(seconds) * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString()
}
