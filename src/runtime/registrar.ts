import type { Tools } from '../contracts/tools.ts'
import { ReprieveError } from '../core/error.ts'
import { patternFault } from '../core/pattern.ts'
import type { Registered, Single, Together } from './attempt.ts'
import type { BatchHandler } from './batch-handler.ts'
import type { Handler, Schema } from './handler.ts'
import type { Plan } from './plan.ts'

/** A service's handlers, one per event type or pattern. */
export interface Service {
  on<Data>(pattern: string, schema: Schema<Data>, handler: Handler<Data>): Service
  // biome-ignore lint/suspicious/noExplicitAny: without a schema the data may be anything
  on(pattern: string, handler: Handler<any>): Service
  /** The same for several events together, in batches as the rules say. */
  onBatch<Data>(pattern: string, schema: Schema<Data>, handler: BatchHandler<Data>): Service
  // biome-ignore lint/suspicious/noExplicitAny: without a schema the data may be anything
  onBatch(pattern: string, handler: BatchHandler<any>): Service
}

export const registrar = (name: string, handlers: Map<string, Registered>): Service => {
  const add = (verb: 'on' | 'onBatch', pattern: string, rest: readonly unknown[]): Service => {
    const fault = typeof pattern === 'string' ? patternFault(pattern) : 'is no text'
    if (fault) {
      throw new ReprieveError(
        'bad_handlers',
        `${name}.${verb}('${String(pattern)}', …): the pattern ${fault}`,
        {
          fix: "name an event, like 'todo.task.created', or a beginning with a star at its end, like 'todo.task.*'",
        },
      )
    }
    const handle = rest.at(-1)
    const schema = rest.length > 1 ? (rest[0] as Schema<unknown>) : undefined
    if (typeof handle !== 'function' || rest.length > 2) {
      const why = rest.length > 2 ? `was given ${rest.length + 1} arguments` : 'was given no function'
      throw new ReprieveError('bad_handlers', `${name}.${verb}('${pattern}', …) ${why}`, {
        fix: `write .${verb}('${pattern}', handler), or .${verb}('${pattern}', schema, handler)`,
      })
    }
    if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
      throw new ReprieveError(
        'bad_handlers',
        `${name}.${verb}('${pattern}', …): the schema is no Standard Schema`,
        {
          fix: 'pass a schema of zod 4, valibot, arktype or another library that has `~standard`',
        },
      )
    }
    if (handlers.has(pattern)) {
      throw new ReprieveError('bad_handlers', `${name} has two handlers for '${pattern}'`, {
        fix: 'one handler per event type or pattern: join them, or give one to another service',
      })
    }
    handlers.set(
      pattern,
      verb === 'on'
        ? { pattern, schema, handle: handle as Single['handle'] }
        : { pattern, schema, together: handle as Together['together'] },
    )
    return service
  }
  const service: Service = {
    on: (pattern: string, ...rest: readonly unknown[]) => add('on', pattern, rest),
    onBatch: (pattern: string, ...rest: readonly unknown[]) => add('onBatch', pattern, rest),
  }
  return service
}

/** It would run, say that it started, and never do anything. */
export const noticeIdle = (
  name: string,
  handlers: ReadonlyMap<string, Registered>,
  { clock, journal }: Tools,
): void => {
  if (handlers.size > 0) return
  const text = `${name} has no handler and takes no event: add one with app.service('${name}').on(…)`
  journal({ at: clock.now(), is: 'notice', text })
}

/** The rules ask for batches and the handler takes one event: most likely somebody expects otherwise. */
export const noticeUnbatched = (
  name: string,
  handlers: ReadonlyMap<string, Registered>,
  { subscriptions, rulesOf }: Plan,
  { clock, journal }: Tools,
): void => {
  const single = subscriptions.flatMap(({ topic, types }) =>
    types.filter((type) => !handlers.get(type)?.together && rulesOf(topic, type).batch),
  )
  if (single.length === 0) return
  const text = `${name} takes ${[...new Set(single)].join(', ')} one by one, though the rules batch them: use onBatch, or batch: off`
  journal({ at: clock.now(), is: 'notice', text })
}
