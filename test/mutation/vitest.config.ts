import { defineConfig } from 'vitest/config'

/** The tests of `core/` alone, for the mutation runner. */
export default defineConfig({
  test: {
    include: ['src/core/**/*.test.ts'],
    setupFiles: ['test/properties.ts'],
    testTimeout: 60_000,
  },
})
