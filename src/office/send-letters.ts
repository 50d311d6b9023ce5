import type { Returning, Transport } from '../contracts/transport.ts'
import { EARLIER } from '../core/found.ts'
import type { Letter } from '../core/letter.ts'
import type { Instant } from '../core/time.ts'
import { byAddress, replayHeaders, replayParcel } from './replay.ts'

/**
 * Letters on their way back: ours to the subscription that failed, others to where they came from. Answers with those
 * that are at an end by that: whoever takes foreign ones sends no receipts, and they are his again.
 */
export const sendLetters = async (
  transport: Transport,
  letters: readonly Letter[],
  receiptTo: string,
  at: Instant,
): Promise<readonly Letter[]> => {
  const theirs = letters.filter(({ origin }) => origin !== undefined)
  const ours = letters.filter(({ origin }) => origin === undefined)
  for (const group of byAddress(ours))
    await transport.forward(
      group.to,
      group.letters.map((letter) => replayParcel(letter, receiptTo, at)),
    )
  if (theirs.length > 0) await transport.sendBack!(theirs.flatMap(returning))
  return theirs
}

const returning = (letter: Letter): readonly Returning[] => {
  const { id, event, origin } = letter
  if (!origin || 'nowhere' in origin) return []
  return [{ origin, event, headers: { ...replayHeaders(letter), [EARLIER]: id } }]
}
