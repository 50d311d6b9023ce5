import type { Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Delivery } from '../contracts/transport.ts'
import type { Keeping } from '../core/found.ts'
import type { Letter } from '../core/letter.ts'
import { foundIn, isLetterId, readLetter, readReceipt } from '../core/letter-reading.ts'
import { foundLetters } from './found.ts'

/** Where messages lay, and to whom those belong that others wrote. */
export interface Arriving {
  readonly destination: string
  readonly transport: string
  readonly keeping: Keeping
  readonly letters: Letters
}

const NOT_ENDED = ['open', 'replaying'] as const

/** Keeps what these messages bring, letters and receipts, and marks what they are about. Nothing is settled. */
export const keepArrivals = async (
  batch: readonly Delivery[],
  { letters, keeping, ...where }: Arriving,
  { clock, dice, journal }: Tools,
): Promise<void> => {
  const now = clock.now()
  const known = { now, ...where }
  const receipts = batch.flatMap(({ parcel }) => readReceipt(parcel.event, now) ?? [])
  const others = batch.filter(({ parcel }) => !readReceipt(parcel.event, now))
  const read = others.map((delivery) => ({ delivery, letter: readLetter(delivery.parcel.event, known) }))
  const isOurs = (letter: Letter | undefined) => letter !== undefined && isLetterId(letter.id)
  const ours = read.flatMap(({ letter }) => (isOurs(letter) ? letter! : []))
  const theirs = read.flatMap(({ delivery, letter }) => (isOurs(letter) ? [] : [asFound(delivery)]))
  const arrived = [...ours, ...(await foundLetters(theirs, where, keeping, letters, dice, now))]
  await letters.keep(arrived)
  await letters.mark([
    ...receipts.map(({ letter, at }) => ({
      id: letter,
      from: NOT_ENDED,
      to: 'resolved' as const,
      at,
    })),
    ...arrived.flatMap(({ trail, buriedAt, reason }) =>
      trail.replay
        ? [
            {
              id: trail.replay.letter,
              // of foreign ones nobody tells the end: they count as resolved until they come back
              from: [...NOT_ENDED, ...(reason === 'found' ? (['resolved'] as const) : [])],
              to: 'dead again' as const,
              at: buriedAt,
            },
          ]
        : [],
    ),
  ])
  for (const { id, service } of arrived) journal({ at: now, is: 'letter kept', letter: id, service })
  for (const { letter, outcome } of receipts) journal({ at: now, is: 'receipt', letter, outcome })
}

/** One of ours that can't be read is kept like someone else's, with what can be known of it. */
const asFound = (delivery: Delivery): Delivery => {
  const told = foundIn(delivery.parcel.event)
  return told ? { ...delivery, found: told.found, broken: delivery.broken ?? told.why } : delivery
}
