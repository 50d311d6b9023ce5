import type { AlertFact } from '../contracts/journal.ts'
import { type Alarm, lookAtFigure, QUIET } from '../core/alarm.ts'
import type { Instant, Millis } from '../core/time.ts'
import type { Reading } from './readings.ts'

/** An alert that was raised, and when it ended, if it did. */
export interface KeptAlert extends AlertFact {
  readonly raisedAt: Instant
  /** As it was seen last. */
  readonly last: number
  readonly endedAt?: Instant
}

/** What is known of one alert between looks. */
interface Watched {
  readonly alarm: Alarm
  readonly alert?: KeptAlert
}

export interface Alerts {
  /** By what they are about; none of them is just quiet. */
  readonly watched: Readonly<Record<string, Watched>>
  /** The newest last. */
  readonly ended: readonly KeptAlert[]
}

export const NO_ALERTS: Alerts = { watched: {}, ended: [] }

export interface Looked {
  readonly alerts: Alerts
  readonly raised: readonly KeptAlert[]
  readonly ended: readonly KeptAlert[]
}

const HOLD: Millis = 60_000
const CALM: Millis = 10 * 60_000
/** So many that ended are kept, and so long. */
const MOST_ENDED = 200
const ENDED_KEPT: Millis = 30 * 24 * 60 * 60_000

/** How alerts stand after one more look. Nothing is read of an alert that was there: what it was about is gone. */
export const lookAtAlerts = (before: Alerts, readings: readonly Reading[], now: Instant): Looked => {
  const byName = new Map(readings.map((reading) => [nameOf(reading), reading]))
  const names = new Set([...Object.keys(before.watched), ...byName.keys()])
  const watched: Record<string, Watched> = {}
  const raised: KeptAlert[] = []
  const ended: KeptAlert[] = []
  for (const name of names) {
    const was = before.watched[name] ?? { alarm: QUIET }
    const reading = byName.get(name)
    const alarm = reading ? step(was.alarm, reading, now) : QUIET
    if (alarm.is !== 'raised') {
      if (was.alert) ended.push({ ...was.alert, endedAt: now })
      if (alarm.is !== 'quiet') watched[name] = { alarm }
      continue
    }
    const { figure } = reading!
    const alert = was.alert
      ? { ...was.alert, last: figure ?? was.alert.last }
      : raisedBy(reading!, alarm.since, now)
    if (!was.alert) raised.push(alert)
    watched[name] = { alarm, alert }
  }
  const kept = [...before.ended, ...ended].filter(({ endedAt = now }) => now - endedAt < ENDED_KEPT)
  return { alerts: { watched, ended: kept.slice(-MOST_ENDED) }, raised, ended }
}

/** A rule that is changed is another one: what was raised by the old one ends. */
const nameOf = ({ of, alert }: Reading): string =>
  JSON.stringify([alert.metric, of, alert.over, alert.threshold])

const step = (alarm: Alarm, { alert, figure }: Reading, now: Instant): Alarm => {
  const { over, threshold, hold = HOLD, calm = CALM } = alert
  return lookAtFigure(alarm, { over, threshold, hold, calm }, figure, now)
}

const raisedBy = ({ of, alert, figure = 0 }: Reading, since: Instant, now: Instant): KeptAlert => {
  const { metric, unit, over, threshold: limit, severity, action } = alert
  return { metric, of, figure, unit, over, limit, since, severity, action, raisedAt: now, last: figure }
}
