import type { Tools } from '../contracts/tools.ts'
import type { Millis } from '../core/time.ts'
import type { Finding } from './finding.ts'

/** The way an app runs something now and then, in one of its processes. */
export type Every = (
  period: string | Millis,
  name: string,
  run: (at: { signal: AbortSignal }) => unknown,
) => void

export const WATCH_JOB = 'watch'
const GROUPING_JOB = 'grouping'

/** They run every minute: that they did is no news. */
export const QUIET_JOBS: ReadonlySet<string> = new Set([WATCH_JOB, GROUPING_JOB])

/** Letters that an older version grouped are grouped anew, whenever they come. */
export const scheduleGrouping = (onSchedule: Every, office: Finding, { clock, journal }: Tools): void => {
  onSchedule('1m', GROUPING_JOB, async ({ signal }) => {
    const moved = await office.regroup(signal)
    if (moved > 0) journal({ at: clock.now(), is: 'notice', text: `grouped anew: ${moved} letters` })
  })
}
