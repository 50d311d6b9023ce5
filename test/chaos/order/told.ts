import { expect } from 'vitest'
import type { OrderRun } from './brokers.ts'
import type { OrderResult } from './run.ts'
import { complaints, figures } from './verdict.ts'

/** The run, and what holds after each. */
export const told = async (
  name: string,
  run: OrderRun & { readonly ofWorkers?: boolean },
  order: (run: OrderRun) => Promise<OrderResult>,
): Promise<OrderResult> => {
  const result = await order(run)
  console.log(`order, ${name}: ${figures(result)}`)
  expect(complaints(result, run)).toEqual([])
  return result
}
