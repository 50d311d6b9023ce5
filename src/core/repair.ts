import { createHash } from 'node:crypto'
import type { Event } from './event.ts'
import type { Json } from './json.ts'
import type { Letter } from './letter.ts'
import type { Instant } from './time.ts'

/** What can be repaired of an event: what it carries, never what it is. */
export type Content = Pick<Event, 'headers' | 'data'>

/** A version of a letter's event, kept beside the letter, which itself stays as it died. */
export interface Repair extends Content {
  /** The first is 1; the letter itself is version 0. */
  readonly version: number
  readonly at: Instant
  readonly who: string
  readonly reason?: string
  /** What was asked for. */
  readonly change: Json
  /** Hashes of the version before, and of this one. */
  readonly before: string
  readonly hash: string
}

/** Parts are set apart by their lengths, so that no header can pass for a body. */
export const contentHash = ({ headers, data }: Content): string => {
  const names = Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1))
  const head = JSON.stringify(names)
  return createHash('sha256')
    .update(`${Buffer.byteLength(head)}:${data === null ? '-' : data.byteLength}:${head}`)
    .update(data ?? '')
    .digest('hex')
}

/** The event as it would be sent now. */
export const currentEvent = ({ event }: Pick<Letter, 'event'>, repair: Repair | undefined): Event =>
  repair ? { ...event, headers: repair.headers, data: repair.data } : event

/** As it is kept and exported. */
export const repairToJson = ({ data, ...repair }: Repair): Json => ({
  ...repair,
  data: data && Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
})

/** undefined: it is none, or not as it was written. */
export const repairFromJson = (json: unknown): Repair | undefined => {
  const read = json as Partial<Record<keyof Repair, unknown>> | null
  if (typeof read !== 'object' || read === null) return undefined
  const { version, at, who, reason, change, before, hash, headers, data } = read
  if (!Number.isSafeInteger(version) || (version as number) < 1 || typeof at !== 'number') return undefined
  if (typeof who !== 'string' || typeof before !== 'string' || typeof hash !== 'string') return undefined
  if (!isHeaders(headers) || (data !== null && typeof data !== 'string')) return undefined
  if (reason !== undefined && typeof reason !== 'string') return undefined
  const repair: Repair = {
    ...{ version: version as number, at, who, change: (change ?? null) as Json, before, hash, headers },
    ...(reason !== undefined && { reason }),
    data: data === null ? null : new Uint8Array(Buffer.from(data, 'base64')),
  }
  return contentHash(repair) === hash ? repair : undefined
}

const isHeaders = (headers: unknown): headers is Content['headers'] =>
  typeof headers === 'object' &&
  headers !== null &&
  !Array.isArray(headers) &&
  Object.values(headers).every((value) => typeof value === 'string')
