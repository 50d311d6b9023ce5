import type { Returning, Transport } from '../contracts/transport.ts'
import { EARLIER } from '../core/found.ts'
import type { Letter } from '../core/letter.ts'
import { currentEvent } from '../core/repair.ts'
import type { Instant } from '../core/time.ts'
import { byAddress, type Mended, replayHeaders, replayParcel } from './replay.ts'

/**
 * Letters on their way back: ours to the subscription that failed, others to where they came from. Answers with those
 * that are at an end by that: whoever takes foreign ones sends no receipts, and they are his again.
 */
export const sendLetters = async (
  transport: Transport,
  letters: readonly Mended[],
  receiptTo: string,
  at: Instant,
): Promise<readonly Letter[]> => {
  const theirs = letters.filter(({ letter }) => letter.origin !== undefined)
  const ours = letters.filter(({ letter }) => letter.origin === undefined)
  for (const group of byAddress(ours))
    await transport.forward(
      group.to,
      group.letters.map((each) => replayParcel(each, receiptTo, at)),
    )
  if (theirs.length > 0) await transport.sendBack!(theirs.flatMap(returning))
  return theirs.map(({ letter }) => letter)
}

const returning = ({ letter, repair }: Mended): readonly Returning[] => {
  const { id, origin } = letter
  if (!origin || 'nowhere' in origin) return []
  const event = currentEvent(letter, repair)
  return [{ origin, event, headers: { ...replayHeaders(letter), [EARLIER]: id } }]
}
