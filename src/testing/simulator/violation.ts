import type { Instant } from '../../core/time.ts'

/** I1 to I8; that nothing is handled after its time; what the contracts promise; and that the journal tells the truth. */
export type Law = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'expiry' | 'journal' | 'contract'

export type Broken = (law: Law, what: string) => void

/** A promise that was broken: which, and how. */
export interface Violation {
  readonly law: Law
  readonly what: string
  readonly at: Instant
}
