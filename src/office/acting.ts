import { type ActName, checkName, hashOfIds } from '../core/acts.ts'
import type { Act, Details } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import type { Instant } from '../core/time.ts'

/** Who acts and why, for the audit. */
export interface Acting {
  /** Else whose office it is. */
  readonly as?: string
  readonly reason?: string
}

/** Of work on many letters. */
export interface ActingOnMany extends Acting {
  /** Told again and again: so many of so many were looked at. */
  readonly onProgress?: (done: number, of: number) => void
}

/** What the audit is told of an act, before it is known on what it took effect. */
export const createActor =
  (owner: string, now: () => Instant) =>
  ({ as, reason }: Acting, act: ActName, details: Details = {}): Omit<Act, 'target' | 'count'> => ({
    at: now(),
    who: as === undefined ? owner : checkName(as),
    act,
    ...(reason !== undefined && { reason }),
    details,
  })

/** Of some acts the audit must tell why. */
export const needReason = ({ reason = '' }: Acting, what: string): void => {
  if (reason.trim() !== '') return
  throw new ReprieveError('bad_usage', `${what} needs a reason`, {
    fix: 'say why (`reason`, or --reason): it is kept in the audit',
  })
}

/** The set an act is about goes with it: a large one is done in batches, each with its entry. */
export const setOf = (ids: readonly string[], batch: number): Details =>
  ids.length > batch ? { set: { count: ids.length, hash: hashOfIds(ids) } } : {}
