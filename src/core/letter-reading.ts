import { fromJson } from './cloudevents.ts'
import type { Event } from './event.ts'
import { CATEGORIES, KINDS } from './failure.ts'
import type { Found } from './found.ts'
import { type DeathReason, LETTER_TYPE, type Letter, RECEIPT_TYPE, type Receipt } from './letter.ts'
import type { Nowhere, Origin } from './origin.ts'
import type { Instant } from './time.ts'
import { freshTrail, readTrail } from './trail.ts'

/**
 * Letters and receipts as they come out of messages that anybody may have written. Every field is looked at: one that is
 * not what it should be is named in `unread`, and stands as best can be told. What has no id or no event is no letter.
 */
export interface Known {
  /** A letter that was written tomorrow would be the newest for ever: later than a day after this is not believed. */
  readonly now?: Instant
  /** Where it lay, and on what. */
  readonly destination?: string
  readonly transport?: string
}

/** The letter an event carries, or undefined where it carries none. */
export const readLetter = (event: Event, known: Known = {}): Letter | undefined =>
  event.type === LETTER_TYPE ? letterOf(parsed(event), known, event.time)?.letter : undefined

export interface ReadLetter {
  readonly letter: Letter
  /** Fields that are not what they should be, in this envelope. */
  readonly wrong: readonly string[]
}

/** The letter an envelope holds, or undefined where it is none. `time`: of the message, where the envelope has none. */
export const letterOf = (json: unknown, known: Known = {}, time?: unknown): ReadLetter | undefined => {
  if (!isRecord(json) || !isName(json.dlqId)) return undefined
  const wrong: string[] = []
  const headers = headersIn(json.headers ?? {})
  if (headers !== json.headers && json.headers !== undefined) wrong.push('headers')
  const original = fromJson(json.originalMessage, headers, null)
  if (original.broken !== undefined) return undefined
  const { event } = original
  const latest = known.now === undefined ? LATEST : known.now + DAY
  const one = <T>(field: string, fits: (value: unknown) => value is T, instead: T): T => {
    const value = json[field]
    if (fits(value)) return value
    wrong.push(field)
    return instead
  }
  const maybe = <T>(field: string, fits: (value: unknown) => value is T): T | undefined => {
    const value = json[field]
    return value === null || value === undefined
      ? undefined
      : (one<T | undefined>(field, fits, undefined) as T)
  }
  const moment = (field: string, instead: Instant): Instant => {
    const at = momentIn(json[field], latest)
    if (at === undefined) wrong.push(field)
    return at ?? instead
  }
  const trail = readTrail(json.trail)
  if (!trail?.whole) wrong.push('trail')
  const service = one('consumerService', isName, UNKNOWN)
  const code = maybe('errorCode', isText)
  const status = maybe('httpStatus', isNumber)
  const stack = maybe('stack', isText)
  const origin = maybe('origin', isOrigin)
  const redacted = maybe('redacted', isRedacted)
  const buriedAt = moment('routedToDlqAt', momentIn(time, latest) ?? known.now ?? 0)
  const letter: Letter = {
    id: json.dlqId,
    destination: one('destination', isName, known.destination ?? UNKNOWN),
    service,
    topic: one('originalTopic', isName, event.type),
    consumerGroup: one('consumerGroup', isName, service),
    transport: one('transport', isName, known.transport ?? UNKNOWN),
    event,
    trail: trail?.trail ?? freshTrail,
    category: one('failureCategory', among(CATEGORIES), 'unknown'),
    kind: one('failureKind', among(KINDS), 'handler'),
    reason: one('reason', among(REASONS), 'found'),
    error: one('error', isText, 'what the letter says of its error can not be read'),
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    ...(stack !== undefined && { stack }),
    // of no version: letters of such a group are grouped anew
    fingerprint: one('fingerprint', isName, 'unread'),
    limit: one('attemptLimit', isCount, 0),
    firstFailureAt: moment('firstFailureAt', trail?.trail.firstFailureAt ?? buriedAt),
    buriedAt,
    ...(origin && { origin }),
    ...(redacted && { redacted: { at: redacted.at } }),
  }
  const unread = [...new Set([...textsIn(json.unread), ...wrong])]
  return { letter: unread.length > 0 ? { ...letter, unread } : letter, wrong }
}

/** As we write them. What comes in from outside under another id was not written by us. */
export const isLetterId = (id: string): boolean => UUID.test(id)

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Of a letter of ours that can't be read: what its envelope tells all the same, and why it is no letter. */
export const foundIn = (event: Event): { readonly found: Found; readonly why: string } | undefined => {
  if (event.type !== LETTER_TYPE) return undefined
  const json = parsed(event)
  if (!isRecord(json)) return { found: { id: event.id }, why: 'its envelope is no JSON object' }
  const why = 'its envelope has no id of ours, or no event that can be read'
  const text = (field: string): string | undefined =>
    isText(json[field]) && json[field] !== '' ? json[field] : undefined
  const error = text('error')
  const found: Found = {
    id: event.id,
    topic: text('originalTopic'),
    consumerGroup: text('consumerService') ?? text('consumerGroup'),
    message: error === undefined ? why : `${error} (${why})`,
    stack: text('stack'),
    at: momentIn(json.routedToDlqAt, LATEST),
    firstAt: momentIn(json.firstFailureAt, LATEST),
  }
  return { found, why }
}

export const readReceipt = (event: Event, now?: Instant): Receipt | undefined => {
  if (event.type !== RECEIPT_TYPE) return undefined
  const receipt = parsed(event)
  if (!isRecord(receipt) || !isName(receipt.letter) || !isOutcome(receipt.outcome)) return undefined
  const { letter, outcome, to, at, attempts } = receipt
  const latest = now === undefined ? LATEST : now + DAY
  return {
    letter,
    outcome,
    to: isText(to) ? to : '',
    at: isNumber(at) && at >= 0 && at <= latest ? at : (now ?? 0),
    attempts: isCount(attempts) ? attempts : 0,
  }
}

const UNKNOWN = 'unknown'
const DAY = 24 * 60 * 60_000
/** The last moment that a date can be. */
const LATEST: Instant = 8_640_000_000_000_000
const LONGEST_NAME = 20_000
const LONGEST_TEXT = 100_000
const MOST = 1_000_000_000

const REASONS: readonly DeathReason[] = [
  ...(['permanent', 'attempts exhausted', 'window exhausted', 'expired', 'undecodable'] as const),
  ...(['refused', 'conflict', 'poison', 'found'] as const),
]

type Loose = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST_TEXT
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST
const isOutcome = (value: unknown): value is Receipt['outcome'] =>
  value === 'done' || value === 'already done'
const among =
  <T extends string>(words: readonly T[]) =>
  (value: unknown): value is T =>
    words.includes(value as T)
const isOrigin = (value: unknown): value is Origin | Nowhere =>
  isRecord(value) && (isText(value.nowhere) || (isText(value.to) && value.address !== undefined))
const isRedacted = (value: unknown): value is { readonly at: readonly string[] } =>
  isRecord(value) && Array.isArray(value.at) && value.at.every(isName)

const momentIn = (value: unknown, latest: Instant): Instant | undefined => {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return at >= 0 && at <= latest ? at : undefined
}

/** The same where all is well. */
const headersIn = (value: unknown): Readonly<Record<string, string>> => {
  if (!isRecord(value)) return {}
  const sound = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return sound.length === Object.keys(value).length
    ? (value as Record<string, string>)
    : Object.fromEntries(sound)
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(isName).slice(0, 100) : []

const parsed = (event: Event): unknown => {
  try {
    return JSON.parse(Buffer.from(event.data ?? []).toString('utf8'))
  } catch {
    return undefined
  }
}
