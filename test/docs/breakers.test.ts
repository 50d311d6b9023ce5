import { describe } from 'vitest'
import { runsItsPrograms } from './programs.ts'

describe('docs/breakers.md', () => {
  runsItsPrograms('docs/breakers.md', ['shared.ts'])
})
