import type { Event } from './event.ts'
import type { Letter } from './letter.ts'
import type { Trail } from './trail.ts'

/** What tells whether a letter may be sent back, and where: neither its story nor what its event carries. */
export interface Outline
  extends Pick<
    Letter,
    | 'id'
    | 'destination'
    | 'service'
    | 'topic'
    | 'consumerGroup'
    | 'reason'
    | 'buriedAt'
    | 'origin'
    | 'redacted'
  > {
  readonly event: Omit<Event, 'headers' | 'data'>
  readonly trail: Pick<Trail, 'generation' | 'replay'>
}

/** With what its event carries: all that it takes to send it. Every letter is one. */
export interface Sendable extends Outline {
  readonly event: Event
}

/** What every store has a column for; the rest of an outline is one text. */
type InColumns = 'id' | 'service' | 'topic' | 'buriedAt'
type Rest = Omit<Outline, InColumns>

/** undefined: a column could not hold its names as they are, and whoever asks must read the letter whole. */
export const writeOutline = (letter: Letter): string | undefined => {
  const { id, service, topic, buriedAt, destination, consumerGroup, reason, origin, redacted, trail } = letter
  if (![id, service, topic].every(isPlain) || !Number.isSafeInteger(buriedAt)) return undefined
  const { headers: _, data: __, ...event } = letter.event
  const { generation, replay } = trail
  const rest: Rest = {
    destination,
    consumerGroup,
    reason,
    event,
    trail: { generation, ...(replay && { replay }) },
    ...(origin && { origin }),
    ...(redacted && { redacted }),
  }
  return JSON.stringify(rest)
}

const isPlain = (name: unknown): boolean =>
  typeof name === 'string' && name.isWellFormed() && !name.includes('\0')

/** Written out, for it is done for every letter of a set, and a spread takes several times as long. */
export const readOutline = (
  { id, service, topic, buriedAt }: Pick<Outline, InColumns>,
  text: string,
): Outline => {
  const { destination, consumerGroup, reason, event, trail, origin, redacted } = JSON.parse(text) as Rest
  const outline = { id, destination, service, topic, consumerGroup, reason, buriedAt, event, trail }
  if (origin === undefined && redacted === undefined) return outline
  return { ...outline, ...(origin && { origin }), ...(redacted && { redacted }) }
}

export const writeHeaders = ({ headers }: Event): string | null => {
  for (const _ in headers) return JSON.stringify(headers)
  return null
}

/** The outline with what lies apart of it. */
export const readSendable = (outline: Outline, headers: string | null, data: Uint8Array | null): Sendable => {
  const read = headers === null ? {} : (JSON.parse(headers) as Event['headers'])
  return { ...outline, event: { ...outline.event, headers: read, data } }
}
