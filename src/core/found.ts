import type { Event } from './event.ts'
import type { Failure } from './failure.ts'
import { fingerprint } from './fingerprint.ts'
import { FOUND } from './group.ts'
import { type Letter, letterId } from './letter.ts'
import type { Nowhere, Origin } from './origin.ts'
import type { Parcel } from './parcel.ts'
import type { Instant } from './time.ts'
import { extendTrail, freshTrail, type Trail } from './trail.ts'

/**
 * What can be known of a dead letter that someone else wrote: whatever the broker and the framework that gave it up left
 * in its headers. Transports read it, for they know the dialects; all of it may be made up by whoever can write there.
 */
export interface Found {
  /** The same for the same message, however often it is handed over, and another when it dies again. */
  readonly id: string
  /** The id is made of the content: another message may have it too. */
  readonly alike?: boolean | undefined
  /** Then: it is surely another one than all that were handed over before in the same session. */
  readonly another?: boolean | undefined
  /** The event's own id, type and place before it died, where the event as it was read has none of its own. */
  readonly eventId?: string | undefined
  readonly type?: string | undefined
  readonly topic?: string | undefined
  readonly consumerGroup?: string | undefined
  /** The broker's word for why, such as rejected or expired. */
  readonly reason?: string | undefined
  readonly name?: string | undefined
  readonly message?: string | undefined
  readonly stack?: string | undefined
  readonly attempts?: number | undefined
  readonly firstAt?: Instant | undefined
  readonly at?: Instant | undefined
  readonly origin?: Origin | undefined
  /** The queue of the one consumer that failed, where that is not the same. */
  readonly queue?: Origin | undefined
  /** It was sent back by an office before: which letter it was then, and how often. */
  readonly earlier?: string | undefined
  readonly generation?: number | undefined
}

/** To whom a found letter belongs and how it may go back, as the rules say. */
export interface Keeping {
  readonly service?: string | undefined
  readonly topic?: string | undefined
  readonly consumerGroup?: string | undefined
  /** service: to our own subscription · off: not at all */
  readonly replay: 'origin' | 'queue' | 'service' | 'off'
}

/** Which letter a message was before it was sent back, so that its next death is known for one. */
export const EARLIER = 'x-replayed-letter'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What our own headers tell of a message that was sent back once. */
export const livesOf = (
  header: (name: string) => string | undefined,
): Pick<Found, 'earlier' | 'generation'> => {
  const earlier = header(EARLIER)
  if (earlier === undefined || !UUID.test(earlier)) return {}
  const generation = Math.min(Number.parseInt(header('x-replay-attempt') ?? '', 10) || 1, 10_000)
  return { earlier, generation: Math.max(1, generation) }
}

/** The class that a printed stack begins with, in the JVM and in .NET. */
export const classIn = (stack: string | undefined): string | undefined =>
  /^([A-Za-z_][\w.$]{2,200})(?=[:\s]|$)/.exec(stack ?? '')?.[1]

const MAX_TEXT = 2000
const MAX_STACK = 4000
const UNKNOWN = 'unknown'
/** Which life it is, found.id tells. */
const FIRST = { generation: 0 }

/** Something lies at a destination that we did not write: it is kept with what can be known of it. */
export const foundLetter = (
  parcel: Parcel,
  broken: string | undefined,
  found: Found | undefined,
  where: { readonly destination: string; readonly transport: string },
  keeping: Keeping,
  now: Instant,
): Letter => {
  const { destination, transport } = where
  const event = placed(found ? known(parcel.event, found) : parcel.event, destination, keeping)
  const consumerGroup = keeping.consumerGroup ?? found?.consumerGroup ?? UNKNOWN
  const service = keeping.service ?? found?.consumerGroup ?? UNKNOWN
  const failure = failureOf(found, broken)
  const at = sane(found?.at, now) ?? now
  const origin = originOf(found, keeping, destination)
  return {
    id: letterId(destination, '', found ? { ...event, id: found.id } : event, FIRST),
    destination,
    service,
    topic: keeping.topic ?? found?.topic ?? event.type,
    consumerGroup,
    transport,
    event,
    trail: found ? trailOf(found, failure, at) : parcel.trail,
    category: failure.category,
    kind: failure.kind,
    reason: 'found',
    error: failure.message,
    ...(failure.code !== undefined && { code: failure.code }),
    ...(failure.stack !== undefined && { stack: failure.stack }),
    fingerprint: fingerprint(failure, { service, topic: destination, type: event.type }),
    limit: 0,
    firstFailureAt: sane(found?.firstAt, now) ?? at,
    buriedAt: at,
    ...(origin && { origin }),
  }
}

/** What nobody said itself in the message is said by where it was. */
const known = (event: Event, { eventId, type }: Found): Event => ({
  ...event,
  ...(eventId !== undefined && { id: eventId }),
  ...(type !== undefined && { type }),
})

/** Its type is no more than the name of where it lies: then that of where it was, if the rules tell. */
const placed = (event: Event, destination: string, { topic }: Keeping): Event =>
  topic !== undefined && event.type === destination ? { ...event, type: topic } : event

const originOf = (
  found: Found | undefined,
  { replay }: Keeping,
  destination: string,
): Origin | Nowhere | undefined => {
  if (replay === 'service') return undefined
  if (replay === 'off') return { nowhere: `the rule book says replay: off of ${destination}` }
  const { origin, queue } = found ?? {}
  return (replay === 'queue' ? (queue ?? origin) : (origin ?? queue)) ?? nowhere(destination)
}

const nowhere = (destination: string): Nowhere => ({
  nowhere: `nothing in it tells where it came from: name service and topic of ${destination} under foreign in the rule book, with replay: service`,
})

/** A letter that was written tomorrow would be the newest for ever. */
const sane = (at: Instant | undefined, now: Instant): Instant | undefined =>
  at !== undefined && Number.isFinite(at) && at > 0 ? Math.min(at, now) : undefined

const failureOf = (found: Found | undefined, broken: string | undefined): Failure => {
  const { name, message, stack, reason } = found ?? {}
  const said = message ?? (name !== undefined ? name : broken)
  const { category, kind } = broken === undefined ? treated(name, reason) : SCHEMA
  return {
    category,
    kind,
    name: cut(name ?? FOUND, 200),
    message: cut(said || 'found at the dead-letter destination, written by someone else', MAX_TEXT),
    ...(reason !== undefined && { code: cut(reason, 100) }),
    ...(stack !== undefined && { stack: cut(stack, MAX_STACK) }),
    because: name === undefined ? 'nothing tells why it is here' : 'the name of its exception',
  }
}

type Treated = Pick<Failure, 'category' | 'kind'>

const SCHEMA: Treated = { category: 'permanent', kind: 'schema' }

/** By the names that exceptions have in other languages: only for people and filters, nothing is decided by it. */
const NAMES: readonly (readonly [RegExp, Treated])[] = [
  [/(?:De)?[Ss]eriali[sz]|Json|Xml|Pars|Conversion|Decod|Schema|Format/, SCHEMA],
  [/Timeout|TimedOut/, { category: 'transient', kind: 'timeout' }],
  [
    /Transient|Unavailable|Connect|Socket|IOException|Network|Deadlock|Lock/,
    { category: 'transient', kind: 'integration' },
  ],
  [/Unauthori[sz]ed|AccessDenied|Forbidden|Authenticat/, { category: 'permanent', kind: 'auth' }],
  [/IllegalArgument|ArgumentException|Validation|Constraint/, { category: 'permanent', kind: 'business' }],
]

const treated = (name: string | undefined, reason: string | undefined): Treated => {
  // of a nested class its own name tells, not the package's
  const simple = name?.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')) + 1) ?? ''
  const known = NAMES.find(([pattern]) => pattern.test(simple))
  if (known) return known[1]
  return { category: 'unknown', kind: reason === 'expired' && name === undefined ? 'expired' : 'handler' }
}

const trailOf = (found: Found, failure: Failure, at: Instant): Trail => {
  const { attempts = 0, generation = 0, earlier } = found
  const spent = Math.max(0, Math.min(attempts, 1_000_000))
  const once = extendTrail({ ...freshTrail, spent: Math.max(0, spent - 1), generation }, failure, at)
  return {
    ...once,
    spent: Math.max(spent, found.name === undefined ? 0 : 1),
    firstFailureAt: sane(found.firstAt, at) ?? at,
    ...(earlier !== undefined && { replay: { letter: earlier, attempt: generation, receiptTo: '' } }),
  }
}

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

/** Why a letter can't be sent back; undefined: it can. */
export const whyStays = ({
  reason,
  origin,
  service,
  destination,
}: Pick<Letter, 'reason' | 'origin' | 'service' | 'destination'>): string | undefined => {
  if (origin) return 'nowhere' in origin ? origin.nowhere : undefined
  return reason === 'found' && service === UNKNOWN ? nowhere(destination).nowhere : undefined
}
