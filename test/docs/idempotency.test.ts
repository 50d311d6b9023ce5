import { describe } from 'vitest'
import { runsItsPrograms } from './programs.ts'

describe('docs/idempotency.md', () => {
  runsItsPrograms('docs/idempotency.md', ['transaction.ts', 'upsert.ts', 'state.ts', 'dedup.ts'])
})
