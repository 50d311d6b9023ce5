import { CATEGORIES, type Category, type Failure, KINDS, type Kind } from './failure.ts'
import type { Instant, Millis } from './time.ts'

/** One failed attempt, as it is remembered. */
export interface AttemptRecord {
  readonly attempt: number
  readonly at: Instant
  readonly category: Category
  readonly kind: Kind
  readonly name: string
  readonly error: string
  readonly code?: string
  readonly status?: number
}

/** The attempts so far. It travels with the event, and stays under `TRAIL_BYTES` on the wire. */
export interface Trail {
  /** Attempts spent in this life of the event; a replay starts again at 0. */
  readonly spent: number
  /** 0 for the first life, one more with each replay. */
  readonly generation: number
  readonly firstFailureAt?: Instant
  /** How many attempts failed with each category, in this life. */
  readonly counts: Readonly<Partial<Record<Category, number>>>
  /** The first record and the newest ones, oldest first. Between them records may be left out. */
  readonly records: readonly AttemptRecord[]
  /** How long the backoff made it wait last: what decorrelated backoff grows from. */
  readonly delay?: Millis
  /** Present while the parcel is a replay: whom to tell how it ended. */
  readonly replay?: Replay
}

export interface Replay {
  /** The dead letter that is replayed. */
  readonly letter: string
  /** How often this event has been replayed, this time included. */
  readonly attempt: number
  /** The destination at which the office waits for the receipt. */
  readonly receiptTo: string
  /** What travels is not what died: an operator repaired it, in this life or an earlier one. */
  readonly repaired?: true
}

export const freshTrail: Trail = { spent: 0, generation: 0, counts: {}, records: [] }

const TRAIL_BYTES = 8 * 1024
/** What the records may take of it. */
const ROOM = TRAIL_BYTES - 512
/** In bytes on the wire. Two records with the longest texts fit, so that the first and the last always do. */
const MAX_TEXT = 500

/** The trail after one more failed attempt. */
export const extendTrail = (trail: Trail, failure: Failure, at: Instant): Trail => {
  const attempt = trail.spent + 1
  const record: AttemptRecord = {
    attempt,
    at,
    category: failure.category,
    kind: failure.kind,
    name: cut(failure.name, 100),
    error: cut(failure.message, MAX_TEXT),
    ...(failure.code !== undefined && { code: cut(failure.code, 100) }),
    ...(failure.status !== undefined && { status: failure.status }),
  }
  return {
    ...trail,
    spent: attempt,
    firstFailureAt: trail.firstFailureAt ?? at,
    counts: { ...trail.counts, [failure.category]: (trail.counts[failure.category] ?? 0) + 1 },
    records: bounded([...trail.records, record]),
  }
}

/** Leaves out records from the middle until the rest fits: the first tells how it began, the last how it ended. */
const bounded = (records: readonly AttemptRecord[]): readonly AttemptRecord[] => {
  if (records.reduce((sum, record) => sum + mostOf(record), 0) <= ROOM) return records
  const kept = [...records]
  let bytes = kept.reduce((sum, record) => sum + sizeOf(record), 0)
  while (bytes > ROOM && kept.length > 2) {
    const [left] = kept.splice(1, 1)
    bytes -= sizeOf(left!)
  }
  return kept
}

/** It is no larger than this: what is short enough need not be written out to be measured. */
const mostOf = ({ name, error, code = '' }: AttemptRecord): number =>
  200 + (name.length + error.length + code.length) * MOST_BYTES

const sizeOf = (record: AttemptRecord): number => Buffer.byteLength(JSON.stringify(record)) + 1

/** As much of the text as takes `most` bytes on the wire, where control characters take six and others up to four. */
const cut = (text: string, most: number): string => {
  if (text.length * MOST_BYTES <= most || (text.length <= most && wireBytes(text) <= most)) return text
  const room = most - Buffer.byteLength('…')
  let kept = text.slice(0, room)
  for (let bytes = wireBytes(kept); bytes > room; bytes = wireBytes(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * room) / bytes))
  }
  return `${kept.replace(HALF_CHARACTER, '')}…`
}

/** Of one character. */
const MOST_BYTES = 6

const wireBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2

const HALF_CHARACTER = /[\ud800-\udbff]$/

export const encodeTrail = (trail: Trail): string => JSON.stringify(trail)

/** A trail that can't be read counts as a fresh one: a foreign header must not stop an event. */
export const decodeTrail = (text: string | undefined): Trail => {
  if (!text) return freshTrail
  try {
    return readTrail(JSON.parse(text))?.trail ?? freshTrail
  } catch {
    return freshTrail
  }
}

/** Anybody may have written it: what is not as it should be is left out, and then it is not whole. undefined: no trail. */
export const readTrail = (json: unknown): { readonly trail: Trail; readonly whole: boolean } | undefined => {
  if (!isRecord(json) || !isCount(json.spent) || !isCount(json.generation) || !Array.isArray(json.records))
    return undefined
  const { spent, generation, counts, records, firstFailureAt, delay, replay } = json
  const sound = records.length <= MOST_RECORDS && records.every(isAttempt)
  const counted = isRecord(counts) && Object.values(counts).every(isCount)
  const begun = firstFailureAt === undefined || isInstant(firstFailureAt)
  const delayed = delay === undefined || isInstant(delay)
  const replayed = replay === undefined || isReplay(replay)
  if (sound && counted && begun && delayed && replayed)
    return { trail: { ...freshTrail, ...(json as Partial<Trail>) }, whole: true }
  const trail: Trail = {
    ...{ spent, generation },
    counts: counted ? (counts as Trail['counts']) : {},
    records: sound ? records : records.filter(isAttempt).slice(-MOST_RECORDS),
    ...(begun && firstFailureAt !== undefined && { firstFailureAt: firstFailureAt as Instant }),
    ...(delayed && delay !== undefined && { delay: delay as Millis }),
    ...(replayed && replay !== undefined && { replay: replay as Replay }),
  }
  return { trail, whole: false }
}

/** More than fit into a trail of ours. */
const MOST_RECORDS = 1000
const MOST_COUNT = 1_000_000_000
/** The last moment that a date can be. */
const LATEST: Instant = 8_640_000_000_000_000

type Loose = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST_COUNT
const isInstant = (value: unknown): value is Instant =>
  typeof value === 'number' && value >= 0 && value <= LATEST
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 100_000

const isAttempt = (value: unknown): value is AttemptRecord =>
  isRecord(value) &&
  isCount(value.attempt) &&
  isInstant(value.at) &&
  CATEGORIES.includes(value.category as Category) &&
  KINDS.includes(value.kind as Kind) &&
  isText(value.name) &&
  isText(value.error) &&
  (value.code === undefined || isText(value.code)) &&
  (value.status === undefined || Number.isFinite(value.status))

const isReplay = (value: unknown): value is Replay =>
  isRecord(value) &&
  isText(value.letter) &&
  isCount(value.attempt) &&
  isText(value.receiptTo) &&
  (value.repaired === undefined || value.repaired === true)
