import type { KeptLetter } from '../contracts/letters.ts'
import type { Json } from '../core/json.ts'
import { type Envelope, lastFailureAt, toEnvelope } from '../core/letter.ts'
import { repairToJson } from '../core/repair.ts'
import { iso } from '../core/time.ts'

/** A kept letter for programs: its envelope, and what else an operator asks for. */
export interface LetterRecord extends Envelope {
  readonly state: KeptLetter['state']
  readonly stateAt: string
  readonly orderKey: string | null
  readonly lastFailureAt: string
  /** 0 for the first life, one more with each replay. */
  readonly generation: number
  /** The letter of the life before. */
  readonly earlier: string | null
  /** Of the rule that made the fingerprint. */
  readonly fingerprintVersion: string
  /** The newest version of what the event carries, where it was repaired: a replay sends that. */
  readonly repair: Json
}

export const recordOf = ({ letter, state, stateAt, repair }: KeptLetter): LetterRecord => ({
  ...toEnvelope(letter),
  state,
  stateAt: iso(stateAt),
  orderKey: letter.event.extensions.orderkey ?? null,
  lastFailureAt: iso(lastFailureAt(letter)),
  generation: letter.trail.generation,
  earlier: letter.trail.replay?.letter ?? null,
  fingerprintVersion: letter.fingerprint.split('-')[0]!,
  repair: repair ? repairToJson(repair) : null,
})
