import type { Canary } from '../core/operation.ts'
import type { Millis } from '../core/time.ts'
import type { WrittenOperations } from './schema.ts'

/** How replays and purges of whole sets are done, nothing left open. */
export interface OperationRules {
  /** Absent: nobody need approve. Else what is about more letters than this must be approved. */
  readonly approvalAbove?: number
  readonly approvalLasts: Millis
  readonly canary?: Canary
  readonly batch: number
  readonly rate?: number
  readonly ttl?: Millis
  readonly reentry: number
}

const MINUTE = 60_000

export const CANARY: Omit<Canary, 'size'> = { wait: 5 * MINUTE, deaths: 0.2 }

export const buildOperations = (written: WrittenOperations): OperationRules => {
  const {
    approval = 'never',
    approvalLasts = 24 * 60 * MINUTE,
    canary,
    batch = 50,
    rate,
    ttl,
    reentry = 1,
  } = written
  const above = approval === 'never' ? undefined : approval === 'always' ? 0 : approval.above
  return {
    ...(above !== undefined && { approvalAbove: above }),
    approvalLasts,
    ...(canary && {
      canary: { size: canary.size, wait: canary.wait ?? CANARY.wait, deaths: canary.deaths ?? CANARY.deaths },
    }),
    batch,
    ...(rate !== undefined && { rate }),
    ...(ttl !== undefined && { ttl }),
    reentry,
  }
}
