import type { Address } from '../contracts/transport.ts'
import type { Letter } from '../core/letter.ts'
import type { Parcel } from '../core/parcel.ts'
import type { Instant } from '../core/time.ts'
import { freshTrail } from '../core/trail.ts'

/** The event on its way back: a new life with nothing spent, the same id, so that dedup still protects. */
export const replayParcel = (letter: Letter, receiptTo: string, now: Instant): Parcel => {
  const { id, event, trail } = letter
  const attempt = trail.generation + 1
  return {
    event: { ...event, headers: { ...event.headers, ...replayHeaders(letter) } },
    trail: { ...freshTrail, generation: attempt, replay: { letter: id, attempt, receiptTo } },
    due: now,
  }
}

/** What a replayed message carries, whoever takes it. */
export const replayHeaders = ({ event, trail }: Letter) => ({
  'x-replayed': 'true',
  'x-original-id': event.id,
  'x-idempotency-key': event.headers['x-idempotency-key'] ?? event.id,
  'x-replay-attempt': String(trail.generation + 1),
})

/** Letters that go back to the same subscription, together. */
export const byAddress = (
  letters: readonly Letter[],
): readonly { to: Address; letters: readonly Letter[] }[] => {
  const groups = Map.groupBy(letters, ({ service, topic, consumerGroup }) =>
    JSON.stringify([service, topic, consumerGroup]),
  )
  return [...groups.values()].map((group) => {
    const { service, topic, consumerGroup } = group[0]!
    return { to: { service, topic, consumerGroup }, letters: group }
  })
}
