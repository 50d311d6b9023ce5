import type { KeptOutline, KeptSendable, LetterState } from '../../contracts/letters.ts'
import { readOutline, readSendable } from '../../core/outline.ts'

/** The columns of an outline, in the order in which `outlineOf` takes them. */
export const OUTLINE = `
letter.id, letter.service, letter.topic, letter.buried_at, letter.state, letter.outline,
(SELECT repair ->> '$.hash' FROM reprieve_letter_repair AS one
  WHERE one.letter = letter.id ORDER BY version DESC LIMIT 1)`

export type OutlineRow = readonly [
  id: string,
  service: string,
  topic: string,
  buriedAt: number,
  state: LetterState,
  outline: string | null,
  /** The hash of its newest version, where it was repaired. */
  repair: string | null,
]

/** Of a row that has one. */
export const outlineOf = (row: OutlineRow): KeptOutline => {
  const [id, service, topic, buriedAt, state, outline, repair] = row
  const letter = readOutline({ id, service, topic, buriedAt }, outline!)
  return repair === null ? { letter, state } : { letter, state, repair: { hash: repair } }
}

/** And what lies apart of it. */
export type SendableRow = readonly [...row: OutlineRow, headers: string | null, data: Uint8Array | null]

export const sendableOf = (row: SendableRow): KeptSendable => {
  const [id, service, topic, buriedAt, state, outline, , headers, data] = row
  const read = readOutline({ id, service, topic, buriedAt }, outline!)
  return { letter: readSendable(read, headers, data), state }
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  Buffer.from(buffer, byteOffset, byteLength)
