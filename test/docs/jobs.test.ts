import { describe } from 'vitest'
import { runsItsPrograms } from './programs.ts'

describe('docs/jobs.md', () => {
  runsItsPrograms('docs/jobs.md', ['jobs.ts'])
})
