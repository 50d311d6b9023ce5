import { afterAll, test, vi } from 'vitest'
import type { Open } from '../../src/contracts/adapter.ts'
import {
  runTrial,
  survey,
  type TrialResult,
  type TrialWorld,
  trials,
} from '../../src/testing/trials/index.ts'
import { keepResults } from './results.ts'

export interface SuiteOptions {
  /** How many at once; more than one only where time is real: a virtual clock is the same for all. */
  readonly atOnce?: number
}

/** Turns the trials into tests. A skipped one carries its reason in its title. */
export const trialSuite = async (
  adapter: string,
  world: TrialWorld,
  { atOnce = 1 }: SuiteOptions = {},
): Promise<void> => {
  const { can, skip } = await survey(world)
  vi.setConfig({ maxConcurrency: atOnce })
  const results = new Map<string, TrialResult>()
  for (const trial of trials) {
    const { name, about } = trial
    const reason = skip(trial)
    if (reason !== undefined) {
      results.set(name, { name, about, took: 0, is: 'skipped', reason })
      test.skip(`${name} (skipped: ${reason})`)
      continue
    }
    const run = async () => {
      const result = await runTrial(trial, world)
      results.set(name, result)
      if (result.is === 'failed') throw result.error
    }
    if (atOnce > 1) test.concurrent(name, run, 90_000)
    else test(name, run, 90_000)
  }
  afterAll(() => {
    // After a run with a filter there is no whole table to keep.
    if (results.size < trials.length) return
    const inOrder = trials.map(({ name }) => results.get(name)!)
    keepResults(adapter, can, inOrder)
  })
}

/** The adapter's door; while its folder has none, the error says so. */
export const adapterOf = async (folder: string): Promise<Open> => {
  const { open } = (await import(`../../src/adapters/${folder}/index.ts`)) as { open?: Open }
  if (!open) throw new Error(`src/adapters/${folder}/index.ts exports no open`)
  return open
}
