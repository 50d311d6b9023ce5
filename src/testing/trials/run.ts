import type { Opened } from '../../contracts/adapter.ts'
import type { Store } from '../../contracts/store.ts'
import type { Can } from '../../contracts/transport.ts'
import type { Millis } from '../../core/time.ts'
import { trials as all } from './all.ts'
import type { Trial, TrialResult, TrialWorld } from './trial.ts'

export interface RunOptions {
  /** Only trials whose name holds this text, or for which this answers true. */
  readonly only?: string | ((trial: Trial) => boolean)
  readonly onResult?: (result: TrialResult) => void
  /** How many at once. A world with a virtual clock allows one: its time is the same for all. */
  readonly concurrency?: number
  /** A trial that takes longer, in real time, has failed. */
  readonly most?: Millis
}

/** Runs the trials in one world and answers with a result each, in their order. */
export const runTrials = async (
  world: TrialWorld,
  { only, onResult, concurrency = 1, most }: RunOptions = {},
): Promise<readonly TrialResult[]> => {
  const wanted =
    typeof only === 'string' ? (trial: Trial) => trial.name.includes(only) : (only ?? (() => true))
  const chosen = all.filter(wanted)
  const { skip } = await survey(world)
  const results: TrialResult[] = []
  let next = 0
  const lane = async () => {
    while (next < chosen.length) {
      const at = next++
      const trial = chosen[at]!
      const reason = skip(trial)
      const result: TrialResult =
        reason === undefined
          ? await runTrial(trial, world, most)
          : { name: trial.name, about: trial.about, took: 0, is: 'skipped', reason }
      results[at] = result
      onResult?.(result)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  return results
}

/** What an adapter declares, and which trials have no meaning there. */
export interface Survey {
  /** undefined: it is no transport. */
  readonly can: Can | undefined
  /** Why this trial has no meaning here; undefined: it has. */
  skip(trial: Trial): string | undefined
}

export const survey = async (world: TrialWorld): Promise<Survey> => {
  const { transport, store } = await world.open()
  await transport?.close()
  await store?.close()
  const can = transport?.can
  return {
    can,
    skip: ({ about, needs }) => {
      if (about === 'transport' ? !can : !store?.[about]) return onlyOf(store, about)
      return can && needs?.(can, world)
    },
  }
}

const onlyOf = (store: Store | undefined, about: Trial['about']): string => {
  if (!store) return `it is a transport only and keeps no ${about}`
  return store.letters ? 'it is a store only' : 'it keeps a ledger and a board only'
}

/** Runs one trial, and closes whatever it left open. */
export const runTrial = async (trial: Trial, world: TrialWorld, most = 60_000): Promise<TrialResult> => {
  const { name, about } = trial
  const opened: Opened[] = []
  const start = performance.now()
  const watched: TrialWorld = {
    ...world,
    open: async () => {
      const fresh = await world.open()
      opened.push(fresh)
      return fresh
    },
  }
  try {
    await inTime(trial.run(watched), most)
    return { name, about, took: performance.now() - start, is: 'passed' }
  } catch (error) {
    return { name, about, took: performance.now() - start, is: 'failed', error: asError(error) }
  } finally {
    for (const { transport, store } of opened) {
      // how the trial ended is told already
      await transport?.close().catch(() => undefined)
      await store?.close().catch(() => undefined)
    }
  }
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)))

/** In real time: what hangs sleeps on no clock of ours. */
const inTime = async (running: Promise<void>, most: Millis): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the trial was not over after ${most} ms`)), most)
  })
  try {
    await Promise.race([running, late])
  } finally {
    clearTimeout(timer)
  }
}
