import { defineConfig } from 'vitest/config'

/** Apart from the others: a sidecar is built first, which takes minutes. `npm run test:dapr` */
export default defineConfig({
  test: {
    name: 'dapr',
    include: ['test/dapr/**/*.test.ts'],
    testTimeout: 60_000,
    // the first run builds the sidecar
    hookTimeout: 30 * 60_000,
  },
})
