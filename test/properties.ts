import fc from 'fast-check'

/**
 * The same draws in every run, so that a change is what makes a test fail. To look further:
 *
 *     REPRIEVE_SEED=$RANDOM REPRIEVE_RUNS=10000 npx vitest run --project unit src/core
 */
const { REPRIEVE_SEED = '1', REPRIEVE_RUNS = '100' } = process.env

fc.configureGlobal({ seed: Number(REPRIEVE_SEED), numRuns: Number(REPRIEVE_RUNS) })
