import type { KeptOutline, KeptSendable, LetterState } from '../../contracts/letters.ts'
import { readOutline, readSendable } from '../../core/outline.ts'

/** The columns of an outline, in the order in which `outlineOf` takes them. */
export const OUTLINE =
  'letter.id, letter.service, letter.topic, letter.buried_at, letter.state, letter.outline'

export type OutlineRow = readonly [
  id: string,
  service: string,
  topic: string,
  buriedAt: number,
  state: LetterState,
  outline: string | null,
]

/** Of a row that has one. */
export const outlineOf = ([id, service, topic, buriedAt, state, outline]: OutlineRow): KeptOutline => ({
  letter: readOutline({ id, service, topic, buriedAt }, outline!),
  state,
})

/** And what lies apart of it; last, whether it was repaired. */
export type SendableRow = readonly [
  ...row: OutlineRow,
  headers: string | null,
  data: Uint8Array | null,
  repaired: number,
]

export const sendableOf = (row: SendableRow): KeptSendable => {
  const [id, service, topic, buriedAt, state, outline, headers, data] = row
  const read = readOutline({ id, service, topic, buriedAt }, outline!)
  return { letter: readSendable(read, headers, data), state }
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  Buffer.from(buffer, byteOffset, byteLength)
