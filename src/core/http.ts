import type { Kind } from './failure.ts'
import { type Finding, finding } from './finding.ts'
import type { Instant, Millis } from './time.ts'

/**
 *   429             rate-limited, with Retry-After where it is sent
 *   other 4xx       permanent; 408 too: who knows better writes an override
 *   502, 503, 504   transient
 *   other 5xx       unknown
 */
export const fromStatus = (status: number): Finding | undefined => {
  const what = `HTTP ${status}`
  if (status === 429) return finding(what, 'rate-limited')
  if (status >= 400 && status < 500) {
    return finding(what, 'permanent', AUTH.has(status) ? 'auth' : 'integration')
  }
  const kind = BUSY.get(status)
  if (kind) return finding(what, 'transient', kind)
  return status >= 500 && status < 600 ? finding(what, 'unknown') : undefined
}

const AUTH: ReadonlySet<number> = new Set([401, 403, 407])
const BUSY: ReadonlyMap<number, Kind> = new Map([
  [502, 'integration'],
  [503, 'integration'],
  [504, 'timeout'],
])

const SECONDS = /^\d{1,9}$/
const DATE = /^[A-Z][a-z]+, .+ GMT$/

/** Retry-After in milliseconds, if it is not that already. A date means something only to who knows the time. */
export const parseRetryAfter = (
  header: string | Millis | undefined,
  now: Instant | undefined,
): Millis | undefined => {
  if (typeof header !== 'string') return header
  const text = header.trim()
  if (SECONDS.test(text)) return Number(text) * 1000
  if (now === undefined || !DATE.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
