import type { Json } from './json.ts'
import type { Instant, Millis } from './time.ts'

/** A job that one process at a time runs, on a schedule, as an entry of the board: nobody has it, or somebody for a while. */
export interface Job {
  /** When it is due. It stays so until a run has ended: what a crash cut short is taken up by another. */
  readonly next: Instant
  readonly held?: { readonly by: string; readonly until: Instant }
}

/** Who runs it says so again and again; who doesn't for so long has died. */
export const JOB_LEASE: Millis = 30_000

export const jobEntry = (name: string): string => `job/${name}`

/** Entries may be anybody's: what is not of the right shape is no job. */
export const readJob = (value: Json): Job | undefined => {
  if (!isRecord(value) || typeof value.next !== 'number') return undefined
  const { next, held } = value
  if (held === undefined) return { next }
  if (!isRecord(held) || typeof held.by !== 'string' || typeof held.until !== 'number') return undefined
  return { next, held: { by: held.by, until: held.until } }
}

/** How the entry should stand now, for one that looks at it; the same one where there is nothing to do. Held by `by`: go. */
export const lookAt = (job: Job | undefined, period: Millis, by: string, now: Instant): Job => {
  // a job begins with a wait; one whose wait is longer than its period was set by another clock, or another rule
  if (!job || job.next > now + period) return { next: now + period }
  if (job.next > now) return job
  const { held } = job
  if (held && held.until > now && held.until <= now + JOB_LEASE) return job
  return { next: job.next, held: { by, until: now + JOB_LEASE } }
}

/** After a run. Those that were missed meanwhile are not made up for. */
export const jobAfter = ({ next }: Job, period: Millis, now: Instant): Job => ({
  next: next + Math.max(1, Math.ceil((now - next + 1) / period)) * period,
})

const isRecord = (value: Json | undefined): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
