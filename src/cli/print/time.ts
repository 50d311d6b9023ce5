import type { Instant, Millis } from '../../core/time.ts'

const STEPS = [
  [24 * 60 * 60_000, 'd'],
  [60 * 60_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const

/** A span as people say it: 240 ms, 1.5 s, 12 min, 3 d. */
export const span = (ms: Millis): string => {
  for (const [unit, name] of STEPS) {
    if (ms < unit) continue
    const count = ms / unit
    return `${count < 10 && name === 's' ? count.toFixed(1).replace('.0', '') : Math.floor(count)} ${name}`
  }
  return `${Math.max(0, Math.round(ms))} ms`
}

/** The time of day here, to the second. */
export const timeOfDay = (at: Instant): string => new Date(at).toTimeString().slice(0, 8)
