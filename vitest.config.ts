import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import LongestFirst from './test/run/sequencer.ts'

const setupFiles = ['test/properties.ts']
/**
 * On a busy machine each process that a test starts takes seconds; a test that fails by a second tells nothing. Whatever is
 * waited for within has less time than this, and says what never came.
 */
const slow = { testTimeout: 480_000, hookTimeout: 300_000, expect: { poll: { timeout: 100_000 } } }

/** Most tests wait for a server, a child process or a lease: on a small machine fewer at a time would leave it idle. */
const maxWorkers = Math.max(4, availableParallelism() - 1)

export default defineConfig({
  test: {
    maxWorkers,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'] } },
      { test: { name: 'unit', include: ['src/**/*.test.ts'], setupFiles, ...slow } },
      {
        test: {
          name: 'scenarios',
          include: ['test/{run,services,scenarios,trials,chaos,docs}/**/*.test.ts'],
          setupFiles,
          ...slow,
        },
      },
    ],
  },
})
