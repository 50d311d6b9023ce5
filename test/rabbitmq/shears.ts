import type { Tap, Way } from '../faults/proxy.ts'
import { FRAME_HEADER, type Moment, openTalk } from './talk.ts'

/** Cuts a connection just before a chosen frame: what went before has arrived, that frame never does. */
export interface Shears {
  readonly tap: () => Tap
  /** How many cuts were made so far before a frame of this kind. */
  cuts(moment: Moment): number
  /** The next frame of this kind, after so many that may pass, is not let through. Once. */
  arm(moment: Moment, after?: number): void
}

const GREETING = Buffer.from('AMQP')

export const openShears = (): Shears => {
  const armed = new Map<Moment, number>()
  const made = new Map<Moment, number>()
  const listen = openTalk()

  const isCutBefore = (moment: Moment): boolean => {
    const left = armed.get(moment)
    if (left === undefined) return false
    if (left > 0) {
      armed.set(moment, left - 1)
      return false
    }
    armed.delete(moment)
    made.set(moment, (made.get(moment) ?? 0) + 1)
    return true
  }

  const tap = (): Tap => {
    const line = listen()
    const rest: Record<Way, Buffer> = { asked: Buffer.alloc(0), answered: Buffer.alloc(0) }
    return (bytes, way) => {
      const all = rest[way].length === 0 ? bytes : Buffer.concat([rest[way], bytes])
      let at = all.subarray(0, GREETING.length).equals(GREETING) ? 8 : 0
      while (all.length >= at + FRAME_HEADER) {
        const end = at + FRAME_HEADER + all.readUInt32BE(at + 3) + 1 // one byte behind it
        if (end > all.length) break
        const moment = line.hear(all.subarray(at, end), way)
        if (moment && isCutBefore(moment)) return { pass: all.subarray(0, at), cut: true }
        at = end
      }
      rest[way] = all.subarray(at)
      return { pass: all.subarray(0, at), cut: false }
    }
  }

  return {
    tap,
    cuts: (moment) => made.get(moment) ?? 0,
    arm: (moment, after = 0) => armed.set(moment, after),
  }
}
