import { createHash } from 'node:crypto'
import { toJson } from './cloudevents.ts'
import { type Event, encodeData, payloadHash } from './event.ts'
import type { Category, Failure, Kind } from './failure.ts'
import type { Nowhere, Origin } from './origin.ts'
import type { Parcel } from './parcel.ts'
import { type Instant, iso } from './time.ts'
import type { AttemptRecord, Trail } from './trail.ts'

/** Why an event was given up. */
export type DeathReason =
  | 'permanent' // retrying can't help
  | 'attempts exhausted'
  | 'window exhausted'
  | 'expired'
  | 'undecodable'
  | 'refused' // the handler answered dead(…)
  | 'conflict' // same id, another payload
  | 'poison'
  | 'found' // lay at the destination, written by someone else

/** What was taken out of a letter before it was written. */
export interface Redacted {
  /** `$.card.number`, `headers.authorization`; `$` alone: the whole payload. */
  readonly at: readonly string[]
}

/** An event set aside with its whole story. */
export interface Letter {
  /** Derived from service, event and life: doubles that a crash makes are the same letter. UUID v4 in form. */
  readonly id: string
  readonly destination: string
  readonly service: string
  readonly topic: string
  readonly consumerGroup: string
  readonly transport: string
  readonly event: Event
  readonly trail: Trail
  readonly category: Category
  readonly kind: Kind
  readonly reason: DeathReason
  readonly error: string
  readonly code?: string
  readonly status?: number
  readonly stack?: string
  readonly fingerprint: string
  /** The policy's limit of attempts at the time of death. */
  readonly limit: number
  readonly firstFailureAt: Instant
  readonly buriedAt: Instant
  /** Of a letter that someone else wrote: where a replay goes. Absent: to the subscription, as with our own. */
  readonly origin?: Origin | Nowhere
  /** What was taken out of it, by rule, before it was written anywhere. */
  readonly redacted?: Redacted
  /** Fields of the envelope it came in that could not be read: they stand here as best could be told. */
  readonly unread?: readonly string[]
}

/** How a replayed event ended, for the office. */
export interface Receipt {
  readonly letter: string
  readonly to: string
  readonly outcome: 'done' | 'already done'
  readonly at: Instant
  readonly attempts: number
}

export interface Death {
  readonly reason: DeathReason
  readonly failure: Failure
  readonly at: Instant
  readonly limit: number
  readonly fingerprint: string
}

export interface Where {
  readonly service: string
  readonly topic: string
  readonly consumerGroup: string
  readonly transport: string
}

export const writeLetter = (parcel: Parcel, where: Where, destination: string, death: Death): Letter => {
  const { event, trail } = parcel
  const { failure } = death
  return {
    id: letterId(where.service, where.topic, event, trail),
    destination,
    service: where.service,
    topic: where.topic,
    consumerGroup: where.consumerGroup,
    transport: where.transport,
    event,
    trail,
    category: failure.category,
    kind: failure.kind,
    reason: death.reason,
    error: failure.message,
    ...(failure.code !== undefined && { code: failure.code }),
    ...(failure.status !== undefined && { status: failure.status }),
    ...(failure.stack !== undefined && { stack: failure.stack }),
    fingerprint: death.fingerprint,
    limit: death.limit,
    firstFailureAt: trail.firstFailureAt ?? death.at,
    buriedAt: death.at,
  }
}

/**
 * open → replaying → resolved | dead again, or open → discarded. Poison begins as quarantined, and is open once it
 * is released.
 */
export const LETTER_STATES = [
  ...(['open', 'replaying', 'resolved', 'dead again', 'discarded', 'quarantined'] as const),
] as const
export type LetterState = (typeof LETTER_STATES)[number]

/** Poison is set aside until an operator releases it. */
export const firstState = ({ reason }: Letter): 'open' | 'quarantined' =>
  reason === 'poison' ? 'quarantined' : 'open'

/** When it was tried in vain for the last time. */
export const lastFailureAt = ({ trail, buriedAt }: Letter): Instant => trail.records.at(-1)?.at ?? buriedAt

/** How often its event was tried again, in the life that ended with it. */
export const retriesOf = ({ trail }: Pick<Letter, 'trail'>): number => Math.max(0, trail.spent - 1)

/**
 * One death, one letter. What comes again because a process died is the same to the last byte, and so is its letter; two events
 * that share no more than their id are two letters, for to keep one of them would lose the other. Of a replay the letter it
 * was sent from is part of it. To be made of the event as it came, before anything is taken out of it.
 */
export const letterId = (
  service: string,
  topic: string,
  { id, source, type, extensions, data }: Event,
  { generation, replay }: Pick<Trail, 'generation' | 'replay'>,
): string => {
  const who = [id, source, type, String(extensions.correlationid ?? ''), payloadHash(data)]
  return derivedId([service, topic, ...who, generation, replay?.letter ?? null])
}

/** The same for the same parts, and a UUID v4 in form. */
export const derivedId = (parts: readonly (string | number | null)[]): string => {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export const LETTER_TYPE = 'reprieve.letter'
export const RECEIPT_TYPE = 'reprieve.receipt'

/** What travels to the dead-letter destination: readable by any consumer, lossless for ours. */
export interface Envelope {
  readonly dlqId: string
  readonly originalTopic: string
  readonly originalEventId: string
  readonly originalTimestamp: string | null
  readonly consumerService: string
  readonly consumerGroup: string
  readonly failureCategory: Category
  readonly failureKind: Kind
  readonly reason: DeathReason
  readonly error: string
  readonly errorCode: string | null
  readonly httpStatus: number | null
  readonly stack: string | null
  readonly retryAttempts: readonly unknown[]
  readonly totalRetries: number
  readonly attemptLimit: number
  readonly firstFailureAt: string
  readonly routedToDlqAt: string
  readonly correlationId: string | null
  readonly fingerprint: string
  readonly destination: string
  readonly transport: string
  readonly headers: Readonly<Record<string, string>>
  readonly trail: Trail
  readonly redacted?: Redacted
  readonly originalMessage: Record<string, unknown>
  readonly origin?: Origin | Nowhere
  readonly unread?: readonly string[]
}

export const toEnvelope = (letter: Letter): Envelope => ({
  dlqId: letter.id,
  originalTopic: letter.topic,
  originalEventId: letter.event.id,
  originalTimestamp: letter.event.time ?? null,
  consumerService: letter.service,
  consumerGroup: letter.consumerGroup,
  failureCategory: letter.category,
  failureKind: letter.kind,
  reason: letter.reason,
  error: letter.error,
  errorCode: letter.code ?? null,
  httpStatus: letter.status ?? null,
  stack: letter.stack ?? null,
  retryAttempts: letter.trail.records.map((record: AttemptRecord) => ({
    attempt: record.attempt,
    timestamp: iso(record.at),
    error: record.error,
    errorCode: record.code ?? null,
    httpStatus: record.status ?? null,
    category: record.category,
    kind: record.kind,
    name: record.name,
  })),
  totalRetries: Math.max(0, letter.trail.spent - 1),
  attemptLimit: letter.limit,
  firstFailureAt: iso(letter.firstFailureAt),
  routedToDlqAt: iso(letter.buriedAt),
  correlationId: letter.event.extensions.correlationid ?? null,
  fingerprint: letter.fingerprint,
  destination: letter.destination,
  transport: letter.transport,
  headers: letter.event.headers,
  trail: letter.trail,
  ...(letter.redacted && { redacted: letter.redacted }),
  originalMessage: toJson(letter.event),
  ...(letter.origin && { origin: letter.origin }),
  ...(letter.unread && { unread: letter.unread }),
})

/** The letter as an event, to be carried to its destination by any transport. */
export const letterEvent = (letter: Letter): Event => ({
  id: letter.id,
  source: `reprieve/${letter.service}`,
  type: LETTER_TYPE,
  subject: letter.event.id,
  time: iso(letter.buriedAt),
  extensions: {},
  headers: {},
  ...(encodeData(toEnvelope(letter)) as { data: Uint8Array; datacontenttype: string }),
})

/** What we send to destinations ourselves. Anything else there was written by someone else. */
export const isOurs = ({ type }: Event): boolean => type === LETTER_TYPE || type === RECEIPT_TYPE

export const receiptEvent = (receipt: Receipt): Event => ({
  id: `${receipt.letter}#receipt`,
  source: 'reprieve',
  type: RECEIPT_TYPE,
  time: iso(receipt.at),
  extensions: {},
  headers: {},
  ...(encodeData(receipt) as { data: Uint8Array; datacontenttype: string }),
})

/** How a delivery ends, as far as something goes to a destination with it. */
type Ending =
  | { readonly do: 'bury'; readonly to: string; readonly letter: Letter }
  | { readonly do: 'ack'; readonly receipt?: Receipt | undefined }
  | { readonly do: 'later' | 'give back' }

/** What goes to which destination with it: the letter of what is buried, the receipt of a replay. */
export const mailOf = (ending: Ending): { readonly to: string; readonly event: Event } | undefined => {
  if (ending.do === 'bury') return { to: ending.to, event: letterEvent(ending.letter) }
  const receipt = ending.do === 'ack' ? ending.receipt : undefined
  return receipt && { to: receipt.to, event: receiptEvent(receipt) }
}
