import type { Event } from './event.ts'
import type { Instant, Millis } from './time.ts'

/**
 * When an event is no longer worth handling: at its own `expirytime`, or a life of `ttl` after its `time`, whichever
 * comes first. What has neither, or can't be read as a time, lives on.
 */
export const expiryOf = (
  { time, extensions }: Pick<Event, 'time' | 'extensions'>,
  ttl?: Millis,
): Instant | undefined => {
  const { expirytime } = extensions
  if (expirytime === undefined && ttl === undefined) return undefined
  const own = expirytime === undefined ? Number.NaN : Date.parse(expirytime)
  const byLife = ttl === undefined || time === undefined ? Number.NaN : Date.parse(time) + ttl
  const first = Number.isNaN(own) ? byLife : Number.isNaN(byLife) ? own : Math.min(own, byLife)
  return Number.isNaN(first) ? undefined : first
}
