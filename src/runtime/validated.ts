import { Invalid } from '../core/errors.ts'
import type { Schema } from './handler.ts'

/** What the schema makes of it, at once where it answers at once; throws or rejects where it does not fit. */
export const validated = (schema: Schema<unknown>, value: unknown): unknown => {
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? result.then(fitting) : fitting(result)
}

const fitting = (result: Awaited<ReturnType<Schema<unknown>['~standard']['validate']>>): unknown => {
  if (result.issues) throw new Invalid('the data does not fit its schema', { issues: result.issues })
  return result.value
}
