import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Many draws, megabytes or sockets. The runner stops at the first test that fails, and mostly a table does.
const SLOW = [
  'thrown',
  'fingerprint',
  'totals',
  'breaker.properties',
  'ledger',
  'trail',
  'verdict.properties',
  'http',
]

class TablesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      SLOW.some((name) => moduleId.endsWith(`/${name}.test.ts`)) ? 1 : 0
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId))
  }
}

/**
 * The tests of `core/` alone, for the mutation runner, which runs them thousands of times: those that load a vendor's
 * SDK, or need a server, to provoke its errors are left out, and so are the simulation and the differential test. What
 * the tree makes of such errors stands in tables beside them, by shape: `aws.codes.test.ts` and the like.
 */
export default defineConfig({
  test: {
    include: ['src/core/**/*.test.ts'],
    exclude: [
      'src/core/aws.test.ts',
      'src/core/backoff.contention.test.ts',
      'src/core/breaker.differential.test.ts',
      'src/core/grpc.test.ts',
      'src/core/http.clients.test.ts',
      'src/core/replies.mail.test.ts',
      'src/core/replies.test.ts',
      'src/core/servicebus.test.ts',
      'src/core/sqlstate.postgres.test.ts',
    ],
    // One state of modules for all files: half the time, and safe, since static mutants are not run.
    isolate: false,
    sequence: { sequencer: TablesFirst },
    setupFiles: ['test/properties.ts'],
    testTimeout: 60_000,
  },
})
