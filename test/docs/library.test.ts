import { describe } from 'vitest'
import { runsItsPrograms } from './programs.ts'

describe('docs/library.md', () => {
  runsItsPrograms('docs/library.md', ['failures.ts', 'delays.ts', 'breaker.ts', 'rules.ts', 'listen.ts'])
})
