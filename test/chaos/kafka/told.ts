import { expect } from 'vitest'
import { type StormOptions, type StormResult, storm } from './storm.ts'

const PATIENCE = 150_000

/** The storm, and what holds after each. */
export const told = async (name: string, options: Omit<StormOptions, 'patience'>): Promise<StormResult> => {
  const result = await storm({ ...options, patience: PATIENCE })
  console.log(`kafka, ${name}: ${JSON.stringify({ ...result, missing: result.missing.length })}`)
  expect(result.missing).toEqual([])
  expect(result.published).toBeGreaterThanOrEqual(options.events)
  expect(result.done).toBeGreaterThan(options.events * 0.9)
  expect(result.dead).toBeGreaterThan(0)
  expect(result.uncommitted).toBe(0)
  return result
}
