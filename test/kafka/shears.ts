import type { Tap, Way } from '../faults/proxy.ts'

const PRODUCE = 0
const OFFSET_COMMIT = 8
const END_TXN = 26
const TXN_OFFSET_COMMIT = 28

/** Moments in the talk with a broker, by the request that is about to go through, or whose answer is. */
const MOMENTS = {
  produce: { way: 'asked', api: PRODUCE },
  confirm: { way: 'answered', api: PRODUCE },
  commit: { way: 'asked', api: OFFSET_COMMIT },
  committed: { way: 'answered', api: OFFSET_COMMIT },
  'commit within': { way: 'asked', api: TXN_OFFSET_COMMIT },
  'committed within': { way: 'answered', api: TXN_OFFSET_COMMIT },
  end: { way: 'asked', api: END_TXN },
  ended: { way: 'answered', api: END_TXN },
} as const

export type Moment = keyof typeof MOMENTS

/** Cuts a connection to Kafka just before a chosen request or answer: what went before has arrived, that one never does. */
export interface Shears {
  readonly tap: () => Tap
  /** How many cuts were made so far. */
  readonly cuts: number
  /** The next one of this kind, after so many that may pass, is not let through. Once. */
  arm(moment: Moment, after?: number): void
}

/** Before each request and each answer stands its length. */
const LENGTH = 4

export const openShears = (): Shears => {
  const armed = new Map<Moment, number>()
  let cuts = 0

  const isCutBefore = (api: number | undefined, way: Way): boolean => {
    for (const [moment, left] of armed) {
      const wanted = MOMENTS[moment]
      if (wanted.way !== way || wanted.api !== api) continue
      if (left > 0) {
        armed.set(moment, left - 1)
        continue
      }
      armed.delete(moment)
      cuts++
      return true
    }
    return false
  }

  const tap = (): Tap => {
    const rest: Record<Way, Buffer> = { asked: Buffer.alloc(0), answered: Buffer.alloc(0) }
    /** What was asked under which number: an answer does not tell what it answers. */
    const open = new Map<number, number>()
    const apiOf = (frame: Buffer, way: Way): number | undefined => {
      if (way === 'asked') {
        const api = frame.readInt16BE(LENGTH)
        open.set(frame.readInt32BE(LENGTH + 4), api)
        return api
      }
      const number = frame.readInt32BE(LENGTH)
      const api = open.get(number)
      open.delete(number)
      return api
    }
    return (bytes, way) => {
      const all = rest[way].length === 0 ? bytes : Buffer.concat([rest[way], bytes])
      let at = 0
      while (all.length >= at + LENGTH) {
        const end = at + LENGTH + all.readInt32BE(at)
        if (end > all.length) break
        if (isCutBefore(apiOf(all.subarray(at, end), way), way))
          return { pass: all.subarray(0, at), cut: true }
        at = end
      }
      rest[way] = all.subarray(at)
      return { pass: all.subarray(0, at), cut: false }
    }
  }

  return {
    tap,
    get cuts() {
      return cuts
    },
    arm: (moment, after = 0) => armed.set(moment, after),
  }
}
