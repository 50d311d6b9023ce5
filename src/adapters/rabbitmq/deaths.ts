import type { Instant } from '../../core/time.ts'

/** One line of `x-death`: how often a queue gave a message up for one reason. */
export interface DeathLine {
  readonly queue: string
  readonly reason: string
  readonly exchange: string
  readonly key: string
  readonly count: number
  readonly at?: Instant
}

/** Newest first, as the broker keeps them. Whoever may publish can make them up: what is no such line is left out. */
export const deathsIn = (headers: Readonly<Record<string, unknown>>): readonly DeathLine[] => {
  const lines = headers['x-death']
  return Array.isArray(lines) ? lines.slice(0, MOST).flatMap(lineOf) : []
}

const MOST = 100

const lineOf = (line: unknown): readonly DeathLine[] => {
  if (typeof line !== 'object' || line === null) return []
  const { queue, reason, exchange, count, time, 'routing-keys': keys } = line as Record<string, unknown>
  if (typeof queue !== 'string' || typeof reason !== 'string') return []
  const key: unknown = Array.isArray(keys) ? keys[0] : undefined
  const at = secondsOf(time)
  return [
    {
      queue,
      reason,
      exchange: typeof exchange === 'string' ? exchange : '',
      key: typeof key === 'string' ? key : queue,
      count: Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 1,
      ...(at !== undefined && { at }),
    },
  ]
}

/** How the client shows a timestamp. */
const secondsOf = (time: unknown): Instant | undefined => {
  const { '!': kind, value } = (time ?? {}) as { '!'?: unknown; value?: unknown }
  const seconds = kind === 'timestamp' ? Number(value) : Number.NaN
  return seconds > 0 ? seconds * 1000 : undefined
}

/** What the broker's words mean. */
export const tellDeath = ({ queue, reason }: DeathLine): string => {
  switch (reason) {
    case 'rejected':
      return `a consumer of '${queue}' rejected it`
    case 'expired':
      return `it lay in '${queue}' until its time was over`
    case 'maxlen':
      return `'${queue}' was full`
    case 'delivery_limit':
      return `it was delivered from '${queue}' more often than the queue allows`
    default:
      return `'${queue}' gave it up: ${reason}`
  }
}

/** Deaths that were a consumer's attempts; the others are waits and full queues. */
export const attemptsIn = (deaths: readonly DeathLine[]): number =>
  deaths.reduce((sum, { reason, count }) => (ATTEMPTS.has(reason) ? sum + count : sum), 0)

const ATTEMPTS: ReadonlySet<string> = new Set(['rejected', 'delivery_limit'])
