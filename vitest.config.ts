import { defineConfig } from 'vitest/config'

const setupFiles = ['test/properties.ts']
const slow = { testTimeout: 60_000, hookTimeout: 120_000 }

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'] } },
      { test: { name: 'unit', include: ['src/**/*.test.ts'], setupFiles, ...slow } },
      {
        test: {
          name: 'scenarios',
          include: ['test/{services,scenarios,trials,chaos,docs}/**/*.test.ts'],
          setupFiles,
          ...slow,
        },
      },
    ],
  },
})
