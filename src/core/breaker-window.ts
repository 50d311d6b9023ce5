import type { BreakerRules } from './breaker-rules.ts'
import type { Instant } from './time.ts'

/** How the latest calls ended: the last `size` of them, bit by bit, or those of the last while, in buckets. */
export type Window =
  | {
      readonly of: 'calls'
      readonly size: number
      /** 1 for a failure, 32 to a number. */
      readonly bits: readonly number[]
      /** Where the next one is written: over the oldest, once the window is full. */
      readonly next: number
      readonly calls: number
      readonly failures: number
    }
  | {
      readonly of: 'time'
      readonly width: number
      /** The number of the newest bucket since the epoch. */
      readonly newest: number
      readonly calls: readonly number[]
      readonly failures: readonly number[]
    }

const CALLS = 100
const VOLUME = 10
const BUCKETS = 10

/** The window with one more outcome. One that was made by other rules is begun anew. */
export const recorded = (
  { window: wanted = { calls: CALLS } }: BreakerRules,
  window: Window | undefined,
  failed: boolean,
  now: Instant,
): Window => {
  if ('calls' in wanted) {
    const size = Math.max(1, Math.floor(wanted.calls))
    return intoCalls(window?.of === 'calls' && window.size === size ? window : noCalls(size), failed)
  }
  const width = Math.max(1, wanted.time / BUCKETS)
  const bucket = Math.floor(now / width)
  const fits = window?.of === 'time' && window.width === width && Math.abs(bucket - window.newest) < BUCKETS
  return intoTime(fits ? window : noTime(width, bucket), failed, bucket)
}

/** Whether the failures have reached the rate, with enough calls to mean something. */
export const reachesRate = ({ rate, volume = VOLUME }: BreakerRules, window: Window): boolean => {
  const calls = total(window.calls)
  const least = window.of === 'calls' ? Math.min(volume, window.size) : volume
  return rate !== undefined && calls >= least && total(window.failures) >= rate * calls
}

type Calls = Extract<Window, { of: 'calls' }>
type Time = Extract<Window, { of: 'time' }>

const noCalls = (size: number): Calls => ({
  of: 'calls',
  size,
  bits: new Array<number>(Math.ceil(size / 32)).fill(0),
  next: 0,
  calls: 0,
  failures: 0,
})

const intoCalls = ({ of, size, bits, next, calls, failures }: Calls, failed: boolean): Calls => {
  const word = next >>> 5
  const bit = 1 << (next & 31)
  const before = bits[word]!
  const leaving = before & bit ? 1 : 0
  return {
    of,
    size,
    bits: failed === (leaving === 1) ? bits : bits.with(word, before ^ bit),
    next: (next + 1) % size,
    calls: Math.min(calls + 1, size),
    failures: failures - leaving + (failed ? 1 : 0),
  }
}

const NONE: readonly number[] = new Array<number>(BUCKETS).fill(0)

const noTime = (width: number, newest: number): Time => ({
  of: 'time',
  width,
  newest,
  calls: NONE,
  failures: NONE,
})

/** The newest bucket stands last. A clock that was put back a little goes on counting in it. */
const intoTime = ({ of, width, newest, calls, failures }: Time, failed: boolean, bucket: number): Time => {
  const passed = Math.max(0, bucket - newest)
  return {
    of,
    width,
    newest: newest + passed,
    calls: moved(calls, passed, 1),
    failures: moved(failures, passed, failed ? 1 : 0),
  }
}

const moved = (buckets: readonly number[], by: number, add: number): readonly number[] =>
  buckets.map((_, place) => (buckets[place + by] ?? 0) + (place === BUCKETS - 1 ? add : 0))

const total = (counts: number | readonly number[]): number =>
  typeof counts === 'number' ? counts : counts.reduce((sum, each) => sum + each, 0)
