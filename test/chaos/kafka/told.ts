import { expect } from 'vitest'
import { PATIENCE } from '../patience.ts'
import { type StormOptions, type StormResult, storm } from './storm.ts'
import { complaints, figures } from './verdict.ts'

/** The storm, and what holds after each. */
export const told = async (name: string, options: Omit<StormOptions, 'patience'>): Promise<StormResult> => {
  const result = await storm({ ...options, patience: PATIENCE })
  console.log(`kafka, ${name}: ${figures(result)}`)
  expect(complaints(result, options)).toEqual([])
  return result
}
