import type { Instant, Millis } from '../../core/time.ts'

const FIRST_PAUSE: Millis = 10_000
const LONGEST_PAUSE: Millis = 5 * 60_000
/** What was not heard of for so long is over, and told at once when it begins again. */
const OVER: Millis = 60_000
const MOST_KNOWN = 1000

interface Known {
  readonly toldAt: Instant
  readonly pause: Millis
  readonly lastAt: Instant
  /** Since it was told. */
  readonly times: number
}

/**
 * Whether what was just heard is to be told, and how often it came since it was told last: a broker that is down fails some
 * inlet every few milliseconds, and whoever looks for the cause reads a line of each, then one every now and then.
 */
export const createRepeats = (): ((what: string, at: Instant) => Told | undefined) => {
  const known = new Map<string, Known>()
  const keep = (what: string, is: Known): void => {
    known.delete(what)
    known.set(what, is)
    if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!)
  }
  return (what, at) => {
    const before = known.get(what)
    if (!before || at - before.lastAt > OVER) {
      keep(what, { toldAt: at, pause: FIRST_PAUSE, lastAt: at, times: 0 })
      return { times: 1, within: 0 }
    }
    const { toldAt, pause } = before
    const times = before.times + 1
    if (at - toldAt < pause) {
      keep(what, { ...before, lastAt: at, times })
      return undefined
    }
    keep(what, { toldAt: at, pause: Math.min(pause * 2, LONGEST_PAUSE), lastAt: at, times: 0 })
    return { times, within: at - toldAt }
  }
}

export interface Told {
  readonly times: number
  readonly within: Millis
}
