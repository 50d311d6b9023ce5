import type { Instant, Millis } from './time.ts'

/** Where a figure becomes worth an alert, and how patient one is about it. */
export interface AlarmLine {
  readonly over: '>' | '>='
  readonly threshold: number
  /** It must be over the line for so long before the alert is raised. */
  readonly hold: Millis
  /** An alert that is raised ends when the figure was not over the line for so long, though it stays near it. */
  readonly calm: Millis
}

/**
 * quiet → rising → raised → quiet. A figure that trembles about its line raises one alert and not many: it must stay over
 * the line to raise it, and fall well below, or stay below for a while, to end it.
 */
export type Alarm =
  | { readonly is: 'quiet' }
  | { readonly is: 'rising'; readonly since: Instant }
  | {
      readonly is: 'raised'
      /** Since when the figure was over the line. */
      readonly since: Instant
      readonly at: Instant
      /** Since when it is not over the line any more. */
      readonly calmSince?: Instant
    }

export const QUIET: Alarm = { is: 'quiet' }

/** Below this share of the line an alert ends at once. */
export const LOWER = 0.8

/** The alarm after one more look. A figure that is not known is not over the line. */
export const lookAtFigure = (
  alarm: Alarm,
  line: AlarmLine,
  figure: number | undefined,
  now: Instant,
): Alarm => {
  const over = isOver(line, figure)
  switch (alarm.is) {
    case 'quiet':
      return over ? risen({ is: 'rising', since: now }, line, now) : alarm
    case 'rising':
      return over ? risen(alarm, line, now) : QUIET
    case 'raised': {
      const { since, at, calmSince = now } = alarm
      if (over) return { is: 'raised', since, at }
      const low = figure !== undefined && figure < line.threshold * LOWER
      return low || now - calmSince >= line.calm ? QUIET : { is: 'raised', since, at, calmSince }
    }
  }
}

const risen = (alarm: Alarm & { is: 'rising' }, { hold }: AlarmLine, now: Instant): Alarm =>
  now - alarm.since >= hold ? { is: 'raised', since: alarm.since, at: now } : alarm

export const isOver = (
  { over, threshold }: Pick<AlarmLine, 'over' | 'threshold'>,
  figure: number | undefined,
): boolean => figure !== undefined && (over === '>' ? figure > threshold : figure >= threshold)
