import { decodeData, type Event } from '../core/event.ts'
import { describeIssues } from '../core/issues.ts'
import { bestMatch } from '../core/pattern.ts'
import type { Registered } from './attempt.ts'

/** Why a handler would refuse what the event carries; undefined: it would not. */
export type DataCheck = (event: Event) => Promise<string | undefined>

/** By the schema of the handler that takes such events, where one is registered here and has one. */
export const dataCheckOf = (
  handlers: ReadonlyMap<string, Registered> | undefined,
  type: string,
): DataCheck | undefined => {
  const pattern = handlers && bestMatch(handlers.keys(), type)
  const schema = pattern === undefined ? undefined : handlers?.get(pattern)?.schema
  if (!schema) return undefined
  return async (event) => {
    let value: unknown
    try {
      value = decodeData(event)
    } catch (error) {
      return (error as Error).message
    }
    const { issues } = await schema['~standard'].validate(value)
    return issues && describeIssues(issues)
  }
}
