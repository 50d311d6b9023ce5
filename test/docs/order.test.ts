import { describe } from 'vitest'
import { runsItsPrograms } from './programs.ts'

describe('docs/order.md', () => {
  runsItsPrograms('docs/order.md', ['stock.ts'])
})
