import { expect, it } from 'vitest'
import { spark } from './spark.ts'

it('bars grow with the counts, and the smallest count is not nothing', () => {
  expect(spark([0, 1, 50, 100])).toBe('·▁▄█')
  expect(spark([0, 0])).toBe('··')
  expect(spark([])).toBe('')
})
