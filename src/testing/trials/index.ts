export { trials } from './all.ts'
export { type RunOptions, runTrial, runTrials, type Survey, survey } from './run.ts'
export type { Trial, TrialResult, TrialWorld } from './trial.ts'
export { realWorld, virtualWorld } from './worlds.ts'
