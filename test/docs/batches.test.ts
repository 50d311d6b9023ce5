import { describe } from 'vitest'
import { runsItsPrograms } from './programs.ts'

describe('docs/batches.md', () => {
  runsItsPrograms('docs/batches.md', ['batches.ts'])
})
