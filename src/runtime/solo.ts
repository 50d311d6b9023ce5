import type { Clock } from '../contracts/tools.ts'
import type { Instant, Millis } from '../core/time.ts'

/** The lanes of one service, to whoever decides when a suspect may run. */
export interface Side {
  /** A suspect waits for its turn. */
  hasSuspect(): boolean
  /** settling: the handlers are through, and not all of what they did is settled. */
  doing(): 'handling' | 'settling' | 'nothing'
  /** Anything waits that may run beside others. */
  hasOthers(): boolean
  runSuspect(): void
  /** Others may begin again. */
  goOn(): void
}

/**
 * A suspect, whose process died before, runs alone: a process that dies then died of it, and nobody is harmed. So it waits
 * for what runs in any service of this process, and meanwhile nothing else begins. After each one the others have at
 * least as long to themselves: they keep about half of their rate, however many suspects there are.
 */
export interface Solo {
  /** Nothing but a suspect may begin. */
  readonly closed: boolean
  join(side: Side): void
  /** Something began to wait, was taken out, or ended. Only needed while it is closed, or a suspect waits. */
  look(): void
}

/** What the handlers did is settled before a suspect begins; a store that is down is not waited for. */
const SETTLING: Millis = 1000

export const createSolo = (clock: Clock, stop: AbortSignal): Solo => {
  const sides: Side[] = []
  let phase: 'open' | 'clearing' | 'alone' = 'open'
  let since: Instant = 0
  let restUntil: Instant = 0
  let settledBy: Instant | undefined
  let looking = false

  const lookIn = (ms: Millis): void => void clock.sleep(ms, stop).then(look)

  const isStill = (): boolean => {
    const doing = sides.map((side) => side.doing())
    if (doing.includes('settling') && !doing.includes('handling')) {
      if (settledBy === undefined) {
        settledBy = clock.now() + SETTLING
        lookIn(SETTLING)
      }
      return clock.now() >= settledBy
    }
    settledBy = undefined
    return !doing.includes('handling')
  }

  const open = (): void => {
    const now = clock.now()
    phase = 'open'
    solo.closed = false
    settledBy = undefined
    restUntil = now + (now - since)
    for (const side of sides) side.goOn()
    if (restUntil > now) lookIn(restUntil - now)
  }

  /** Whether anything changed. */
  const step = (): boolean => {
    const next = sides.find((side) => side.hasSuspect())
    if (phase === 'open') {
      if (!next) return false
      const now = clock.now()
      if (now < restUntil && sides.some((side) => side.hasOthers() || side.doing() !== 'nothing'))
        return false
      phase = 'clearing'
      solo.closed = true
      since = now
      return true
    }
    if (phase === 'clearing' && next) {
      if (!isStill()) return false
      phase = 'alone'
      settledBy = undefined
      // the next one is of another service
      sides.push(...sides.splice(sides.indexOf(next), 1))
      next.runSuspect()
      return true
    }
    if (phase === 'alone' && !isStill()) return false
    open()
    return true
  }

  /** What begins and ends here looks again while it still goes round: it is left to the one that began. */
  const look = (): void => {
    if (looking) return
    looking = true
    while (step());
    looking = false
  }

  const solo = { closed: false, look, join: (side: Side) => void sides.push(side) }
  return solo
}
