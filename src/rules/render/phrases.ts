import { classify, type Override } from '../../core/classify.ts'
import type { Category } from '../../core/failure.ts'
import type { Policy } from '../../core/policy.ts'
import type { Millis } from '../../core/time.ts'
import type { Alert, Breaker } from '../builtin.ts'
import { showDuration } from '../duration.ts'
import type { Idempotency, Rules } from '../rules.ts'
import { showAlert } from '../show.ts'
import { code } from './markdown.ts'

/** What the rendered pages say in the same words. */

const PATTERNS: Readonly<Record<Idempotency['pattern'], string>> = {
  dedup: 'dedup on the event',
  upsert: 'idempotent upsert',
  state: 'state looked at first',
  transaction: 'one transaction with the effect',
  none: 'none',
}

export const patternWords = ({ pattern }: Idempotency): string => PATTERNS[pattern]

export const KEYS: Readonly<Record<Idempotency['key'], string>> = {
  id: "the event's id",
  'id+correlation': "the event's id and its correlation id",
}

export const dataLossWords = (dataLoss: Rules['dataLoss']): string =>
  dataLoss === 'acceptable' ? 'losing one is acceptable' : 'none may be lost'

const REPROCESSING: Readonly<Record<Rules['deadLetter']['reprocessing'], string>> = {
  manual: 'manual: a person looks at each and replays it',
  automatic: 'automatic: a schedule replays what was transient',
  filtered: 'filtered: a person replays what a filter chooses',
}

export const reprocessingWords = (how: Rules['deadLetter']['reprocessing']): string => REPROCESSING[how]

/** Metrics by the names that people call them; the book's own name where there is none. */
const METRIC_TITLES: Readonly<Partial<Record<string, string>>> = {
  retryRate: 'retry rate',
  inflow: 'dead letters arriving',
  lag: 'consumer lag',
  lagAge: 'consumer lag in time',
  breakerOpen: 'breaker open',
  depth: 'dead letters waiting',
  oldest: 'oldest dead letter',
  errorShare: 'share of one cause',
  batchTimeouts: 'batches timed out',
  duplicates: 'duplicates',
  quarantined: 'in quarantine',
  criticalBatches: 'critical batches failed',
}

export const metricTitle = (metric: string): string => METRIC_TITLES[metric] ?? metric

/** `> 10%`, as an alert is written without its metric. */
export const thresholdWords = (alert: Alert): string => showAlert(alert).slice(alert.metric.length + 1)

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`

/** What an override matches, as Markdown. */
export const matchWords = ({ match }: Override): string =>
  Object.entries(match)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} ${code(String(value))}`)
    .join(', ')

/** What would hold without the override: an error with just what it matches, judged by the tree. */
export const defaultCategory = ({ match: { code, name, status, message } }: Override): Category => {
  const said = message?.replaceAll('*', ' ')
  const error = Object.assign(new Error(said ?? ''), { code, status, ...(name !== undefined && { name }) })
  return classify(error).category
}

/** How a policy waits, in short. */
export const limitWords = ({ retries, window }: Policy): string => {
  if (retries === 0) return 'no retry'
  const times = count(retries, 'retry', 'retries')
  return window === undefined ? times : `${times} within ${showDuration(window)}`
}

export const breakerName = (breaker: Breaker | undefined): string => (breaker ? code(breaker.name) : 'none')

export const eventWords = (event: string): string => (event === '*' ? 'every event' : code(event))

/** A figure that was computed, as precise as anyone needs it: 23.25s, 6m 14s, 2h 5m. */
export const roughly = (ms: Millis): string => {
  if (ms < MINUTE) return ms < 1000 ? `${Math.round(ms)}ms` : `${Number((ms / 1000).toFixed(2))}s`
  const [big, small, unit] = ms < HOUR ? [MINUTE, 1000, 'm s'] : [HOUR, MINUTE, 'h m']
  const rest = Math.round((ms % big) / small)
  const whole = Math.floor(ms / big) + (rest === 60 ? 1 : 0)
  const [first, second] = unit.split(' ')
  return rest % 60 === 0 ? `${whole}${first}` : `${whole}${first} ${rest}${second}`
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
