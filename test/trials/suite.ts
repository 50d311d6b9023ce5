import { afterAll, test, vi } from 'vitest'
import type { Open } from '../../src/contracts/adapter.ts'
import {
  runTrial,
  survey,
  TooLate,
  type TrialResult,
  type TrialWorld,
  trials,
} from '../../src/testing/trials/index.ts'
import { keepResults } from './results.ts'

export interface SuiteOptions {
  /** How many at once; more than one only where time is real: a virtual clock is the same for all. */
  readonly atOnce?: number
  /** How often one may be tried again: where the wire is disturbed, how late a wait is says little. */
  readonly retry?: number
}

/** So often it is measured how late something is: the machine has others to serve as well. All else must hold at once. */
const MEASURED = 3

/** Turns the trials into tests. A skipped one carries its reason in its title. Each result is noted. */
export const trialTests = async (
  world: TrialWorld,
  { atOnce = 1, retry = 0 }: SuiteOptions = {},
  note: (result: TrialResult) => void = () => {},
): Promise<void> => {
  const { skip } = await survey(world)
  vi.setConfig({ maxConcurrency: atOnce })
  for (const trial of trials) {
    const { name, about } = trial
    const reason = skip(trial)
    if (reason !== undefined) {
      note({ name, about, took: 0, is: 'skipped', reason })
      test.skip(`${name} (skipped: ${reason})`)
      continue
    }
    const run = async () => {
      let result = await runTrial(trial, world)
      for (let n = 1; n < MEASURED && result.is === 'failed' && result.error instanceof TooLate; n++)
        result = await runTrial(trial, world)
      note(result)
      if (result.is === 'failed') throw result.error
    }
    const options = { retry }
    if (atOnce > 1) test.concurrent(name, options, run)
    else test(name, options, run)
  }
}

/** The same, and what the adapter's table is made of. */
export const trialSuite = async (
  adapter: string,
  world: TrialWorld,
  options: SuiteOptions = {},
): Promise<void> => {
  const { can } = await survey(world)
  const results = new Map<string, TrialResult>()
  await trialTests(world, options, (result) => results.set(result.name, result))
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
