import { systemClock } from '../../src/adapters/system/clock.ts'
import type { Clock } from '../../src/contracts/tools.ts'

/** The real clock, which a test can turn forward: a server's time goes on as it does. */
export interface TurnedClock extends Clock {
  wait(ms: number): void
}

export const turnedClock = (): TurnedClock => {
  // it stands still between turns, so that a model and a server are asked at the same moment
  let now = systemClock.now()
  return {
    now: () => now,
    sleep: systemClock.sleep,
    wait: (ms) => {
      now += ms
    },
  }
}
