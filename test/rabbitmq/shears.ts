import type { Tap, Way } from '../faults/proxy.ts'

/** Moments in the talk with a broker, by the AMQP 0-9-1 method that is about to go through. */
const MOMENTS = {
  publish: { way: 'asked', class: 60, method: 40 },
  confirm: { way: 'answered', class: 60, method: 80 },
  deliver: { way: 'answered', class: 60, method: 60 },
  ack: { way: 'asked', class: 60, method: 80 },
} as const

export type Moment = keyof typeof MOMENTS

/** Cuts a connection just before a chosen frame: what went before has arrived, that frame never does. */
export interface Shears {
  readonly tap: () => Tap
  /** How many cuts were made so far. */
  readonly cuts: number
  /** The next frame of this kind, after so many that may pass, is not let through. Once. */
  arm(moment: Moment, after?: number): void
}

const METHOD_FRAME = 1
/** Type, channel and size in front of the payload, one byte behind it. */
const HEADER = 7
const GREETING = Buffer.from('AMQP')

export const openShears = (): Shears => {
  const armed = new Map<Moment, number>()
  let cuts = 0

  const isCutBefore = (frame: Buffer, way: Way): boolean => {
    if (frame[0] !== METHOD_FRAME) return false
    const kind = frame.readUInt16BE(HEADER)
    const method = frame.readUInt16BE(HEADER + 2)
    for (const [moment, left] of armed) {
      const wanted = MOMENTS[moment]
      if (wanted.way !== way || wanted.class !== kind || wanted.method !== method) continue
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
    return (bytes, way) => {
      const all = rest[way].length === 0 ? bytes : Buffer.concat([rest[way], bytes])
      let at = all.subarray(0, GREETING.length).equals(GREETING) ? 8 : 0
      while (all.length >= at + HEADER) {
        const end = at + HEADER + all.readUInt32BE(at + 3) + 1
        if (end > all.length) break
        if (armed.size > 0 && isCutBefore(all.subarray(at, end), way)) {
          return { pass: all.subarray(0, at), cut: true }
        }
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
