import type { KeptSendable } from '../contracts/letters.ts'
import type { Address } from '../contracts/transport.ts'
import type { Event } from '../core/event.ts'
import type { Sendable } from '../core/outline.ts'
import type { Parcel } from '../core/parcel.ts'
import { currentEvent } from '../core/repair.ts'
import type { Instant } from '../core/time.ts'
import { freshTrail } from '../core/trail.ts'

/** A letter and the version of its event that goes back. */
export type Mended = Pick<KeptSendable, 'letter' | 'repair'>

/**
 * The event on its way back: a new life with nothing spent, the same id, so that dedup still protects. Where it was
 * repaired it goes as it was repaired last, and says so, lest its own id with another payload be taken for a conflict.
 */
export const replayParcel = (
  { letter, repair }: Mended,
  receiptTo: string,
  now: Instant,
  /** It is to have its effect once more: dedup must not know it, so it has a name of its own. */
  anew?: string,
): Parcel => {
  const { id, trail } = letter
  const event = currentEvent(letter, repair)
  const attempt = trail.generation + 1
  const repaired = repair !== undefined || letter.redacted !== undefined || trail.replay?.repaired === true
  const own = anew === undefined ? {} : { id: `${event.id}~${anew}` }
  return {
    event: {
      ...event,
      ...own,
      headers: carrying(event, {
        ...replayHeaders(letter),
        ...(own.id !== undefined && { 'x-idempotency-key': own.id }),
      }),
    },
    trail: {
      ...freshTrail,
      generation: attempt,
      replay: { letter: id, attempt, receiptTo, ...(repaired && { repaired }) },
    },
    due: now,
  }
}

/** What a replayed message carries, whoever takes it. */
export const replayHeaders = ({ event, trail }: Sendable) => ({
  'x-replayed': 'true',
  'x-original-id': event.id,
  'x-idempotency-key': event.headers['x-idempotency-key'] ?? event.id,
  'x-replay-attempt': String(trail.generation + 1),
})

/** For all that are subscribed, as a new event: some of them have done the old one, and dedup would pass it by. */
export const publishedAnew = ({ letter, repair }: Mended, operation: string): Event => {
  const event = currentEvent(letter, repair)
  const id = `${event.id}~${operation}`
  const headers = carrying(event, { ...replayHeaders(letter), 'x-idempotency-key': id })
  return { ...event, id, headers }
}

/** Ours take the place of what the event had by these names, however they are written: two of one name contradict. */
const carrying = ({ headers }: Event, own: Event['headers']): Event['headers'] => {
  const kept: Record<string, string> = {}
  for (const name in headers) if (!(name.toLowerCase() in own)) kept[name] = headers[name]!
  return { ...kept, ...own }
}

/** Letters that go back to the same subscription, together. */
export const byAddress = <T extends Mended>(
  letters: readonly T[],
): readonly { to: Address; letters: readonly T[] }[] => {
  const groups = Map.groupBy(letters, ({ letter }) =>
    JSON.stringify([letter.service, letter.topic, letter.consumerGroup]),
  )
  return [...groups.values()].map((group) => {
    const { service, topic, consumerGroup } = group[0]!.letter
    return { to: { service, topic, consumerGroup }, letters: group }
  })
}
