import { describe } from 'vitest'
import { runsItsPrograms } from './programs.ts'

describe('docs/client.md', () => {
  runsItsPrograms('docs/client.md', ['orders.ts'])
})
