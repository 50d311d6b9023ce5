import type { Millis } from '../core/time.ts'

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const DURATION = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/

/** Ten years: whatever is longer is a slip of the pen, and would not fit every broker's clock. */
export const LONGEST: Millis = 3650 * UNITS.d

export const A_DURATION = 'a duration such as 500ms, 1.5s, 5m, 1h or 7d (at most 3650d)'

/** `500ms`, `1.5s`, `5m`, `1h`, `7d` in milliseconds; undefined where it is none of these. */
export const readDuration = (text: string): Millis | undefined => {
  const [, amount, unit] = DURATION.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const ms = Math.round(Number(amount) * UNITS[unit as keyof typeof UNITS])
  return ms <= LONGEST ? ms : undefined
}

/** The shortest way to write it that reads back as the same. */
export const showDuration = (ms: Millis): string => {
  if (ms === 0) return '0s'
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms % UNITS[unit] === 0) return `${ms / UNITS[unit]}${unit}`
  }
  return ms > UNITS.s && ms % 100 === 0 ? `${ms / UNITS.s}s` : `${ms}ms`
}
