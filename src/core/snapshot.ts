import type { Instant, Millis } from './time.ts'

/** How the dead letters stood at one moment. Small: what would make it large is cut, and the cut is counted. */
export interface Snapshot {
  readonly at: Instant
  /** Letters not at an end: open, replaying or quarantined. So are all counts here but the last. */
  readonly depth: number
  /** The deepest first, at most `MOST_QUEUES`. */
  readonly queues: readonly QueueDepth[]
  /** Queues that were left out. */
  readonly moreQueues: number
  /** How many of each error, by its code, or its kind where it has none; the most frequent, at most `MOST_ERRORS`. */
  readonly errors: Readonly<Record<string, number>>
  /** The age of the oldest. */
  readonly oldest?: Millis
  /** Services that have more dead letters than their rules say is much. */
  readonly over: number
  /** How often an event was tried again before it died, on average over all that ever died. */
  readonly averageRetries?: number
  /** Letters that ever arrived. */
  readonly arrived: number
}

export interface QueueDepth {
  readonly service: string
  readonly topic: string
  readonly depth: number
}

export const MOST_QUEUES = 50
export const MOST_ERRORS = 20

/** Where a figure goes. */
export interface Trend {
  readonly direction: 'increasing' | 'decreasing' | 'stable'
  readonly first: number
  /** The last of them. */
  readonly recent: number
  readonly average: number
  /** How much the last is above the first, as a share of it; absent where the first was nothing. */
  readonly change?: number
}

/** A trend is told by so many snapshots at most, and by two at least. */
export const TREND_MOST = 10
const MUCH = 0.2

/** Of figures in the order of time: the last against the first of the newest ten. */
export const trendOf = (figures: readonly number[]): Trend | undefined => {
  const seen = figures.slice(-TREND_MOST)
  const first = seen[0]
  const recent = seen.at(-1)
  if (first === undefined || recent === undefined || seen.length < 2) return undefined
  const average = seen.reduce((sum, each) => sum + each, 0) / seen.length
  const change = first === 0 ? undefined : (recent - first) / first
  // anything is more than nothing
  const grown = change ?? (recent > 0 ? Number.POSITIVE_INFINITY : 0)
  const direction = grown > MUCH ? 'increasing' : grown < -MUCH ? 'decreasing' : 'stable'
  return { direction, first, recent, average, ...(change !== undefined && { change }) }
}
