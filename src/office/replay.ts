import type { KeptLetter } from '../contracts/letters.ts'
import type { Address } from '../contracts/transport.ts'
import type { Letter } from '../core/letter.ts'
import type { Parcel } from '../core/parcel.ts'
import type { Instant } from '../core/time.ts'
import { freshTrail } from '../core/trail.ts'

/** The event on its way back: a new life with nothing spent, the same id, so that dedup still protects. */
export const replayParcel = ({ id, event, trail }: Letter, receiptTo: string, now: Instant): Parcel => {
  const attempt = trail.generation + 1
  return {
    event: {
      ...event,
      headers: {
        ...event.headers,
        'x-replayed': 'true',
        'x-original-id': event.id,
        'x-idempotency-key': event.headers['x-idempotency-key'] ?? event.id,
        'x-replay-attempt': String(attempt),
      },
    },
    trail: { ...freshTrail, generation: attempt, replay: { letter: id, attempt, receiptTo } },
    due: now,
  }
}

/** Letters that go back to the same subscription, together. */
export const byAddress = (
  letters: readonly KeptLetter[],
): readonly { to: Address; letters: readonly Letter[] }[] => {
  const groups = Map.groupBy(letters, ({ letter }) =>
    JSON.stringify([letter.service, letter.topic, letter.consumerGroup]),
  )
  return [...groups.values()].map((group) => {
    const { service, topic, consumerGroup } = group[0]!.letter
    return { to: { service, topic, consumerGroup }, letters: group.map(({ letter }) => letter) }
  })
}
