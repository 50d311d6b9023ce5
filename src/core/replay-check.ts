import type { LetterState } from './letter.ts'
import type { Operation, Skip } from './operation.ts'

/** What is known of a letter that somebody wants to replay. */
export interface Standing {
  /** undefined: there is no such letter. */
  readonly state: LetterState | undefined
  /** false: something in it was redacted, and not repaired since. */
  readonly whole: boolean
  /** false: nothing tells where it came from. */
  readonly returns: boolean
  /** Nobody need approve, or somebody has. */
  readonly approved: boolean
  /** false: its payload does not fit the schema of the handler that would get it. */
  readonly valid: boolean
  readonly expired: boolean
  /** false: a breaker that it depends on is open. */
  readonly healthy: boolean
  /** How often its event was replayed before. */
  readonly generation: number
}

/** From which states a letter may be sent. */
export const sendableFrom = ({ plan }: Pick<Operation, 'plan'>): readonly LetterState[] => [
  'open',
  ...(plan.although.includes('on its way') ? (['replaying'] as const) : []),
  ...(plan.although.includes('already done') ? (['resolved', 'dead again', 'discarded'] as const) : []),
]

/**
 * What speaks against replaying a letter, the first of all that does; undefined: it may go. First whether there is anything
 * to be sent, then approval, schema, age, the health of what is downstream, and how often it came back.
 */
export const reasonAgainst = (
  standing: Standing,
  operation: Pick<Operation, 'named' | 'plan'>,
  reentry: number,
): Skip | undefined => {
  const { state, whole, returns, approved, valid, expired, healthy, generation } = standing
  const although = new Set<Skip>(operation.plan.although)
  if (state === undefined) return 'unknown letter'
  if (!sendableFrom(operation).includes(state)) return wordFor(state)
  if (!whole) return 'redacted'
  if (!returns) return 'nowhere to go'
  if (!approved) return 'needs approval'
  if (!valid && !although.has('invalid schema')) return 'invalid schema'
  if (expired && !although.has('expired')) return 'expired'
  if (!healthy && !although.has('downstream unhealthy')) return 'downstream unhealthy'
  if (generation >= reentry && !operation.named && !although.has('re-entry limit')) return 're-entry limit'
  return undefined
}

const wordFor = (state: LetterState): Skip =>
  state === 'quarantined' ? 'quarantined' : state === 'replaying' ? 'on its way' : 'already done'

/** A purge takes away whatever nobody is at. */
export const PURGED_FROM: readonly LetterState[] = [
  'open',
  'resolved',
  'dead again',
  'discarded',
  'quarantined',
]

export const purgeableFrom = ({ plan }: Pick<Operation, 'plan'>): readonly LetterState[] =>
  plan.although.includes('on its way') ? [...PURGED_FROM, 'replaying'] : PURGED_FROM

export const reasonAgainstPurge = (
  { state, approved }: Pick<Standing, 'state' | 'approved'>,
  operation: Pick<Operation, 'plan'>,
): Skip | undefined => {
  if (state === undefined) return 'unknown letter'
  if (!purgeableFrom(operation).includes(state)) return 'on its way'
  return approved ? undefined : 'needs approval'
}
