import { setTimeout as pause } from 'node:timers/promises'
import type { Open } from '../../contracts/adapter.ts'
import type { Tools } from '../../contracts/tools.ts'
import { type TestTools, testTools } from '../tools.ts'
import type { TrialWorld } from './trial.ts'

/** A world in virtual time, for adapters that sleep by their clock only. Trials take milliseconds there. */
export const virtualWorld = (open: Open, url: string, tools: TestTools = testTools()): TrialWorld => {
  return {
    open: () => open(url, tools),
    wait: (ms, until) => tools.clock.advance(ms, until),
    now: tools.clock.now,
    name: names(`v${++virtualWorlds}`),
    tools,
    slack: 50,
    patience: 30_000,
  }
}

/**
 * A world in real time: a broker over there. All that the trials make there has `trial-<run>-` in its name, so
 * that it can be found and removed.
 */
export const realWorld = (
  open: Open,
  url: string,
  tools: Tools,
  run: string = tools.dice.uuid().slice(-12),
): TrialWorld => ({
  open: () => open(url, tools),
  wait: async (ms, until) => {
    const stop = new AbortController()
    // the pause is cut short, and whoever made `until` hears how it ended
    const over = pause(ms, undefined, { signal: stop.signal }).catch(() => undefined)
    await Promise.race([over, until?.catch(() => undefined) ?? over])
    stop.abort()
  },
  now: tools.clock.now,
  name: names(run),
  tools,
  slack: 1500,
  patience: 30_000,
})

let virtualWorlds = 0

const names = (run: string) => {
  let count = 0
  return (prefix: string) => `trial-${run}-${prefix}-${++count}`
}
