import type { Batch } from '../rules/index.ts'
import type { Single, Together } from './attempt.ts'
import { type BatchContext, wentOf } from './batch-handler.ts'
import { createContext, type Surroundings } from './context.ts'
import type { Passenger } from './passenger.ts'

/** For an event that must be by itself: the batch handler, with that one only. */
export const asSingle = ({ pattern, schema, together }: Together): Single => ({
  pattern,
  schema,
  handle: async (event, ctx) => {
    const { attempt, trail, idempotencyKey, log, call, publish } = ctx
    const alone: BatchContext = {
      batcher: undefined,
      get signal() {
        return ctx.signal
      },
      log,
      call,
      publish,
    }
    const reply = await together([{ ...event, attempt, trail, idempotencyKey }], alone)
    const went = wentOf(reply, 1, pattern)[0]!
    if ('error' in went) throw went.error
    return went.reply
  },
})

/** Calls and logs are made for the batch's first event, a fresh one where there is one: it asks no retry budget. */
export const createBatchContext = (
  around: Surroundings,
  passengers: readonly Passenger[],
  batch: Batch,
  signal: () => AbortSignal,
): BatchContext => {
  const { delivery, rules, topic } = passengers.find(({ event }) => event.attempt === 1) ?? passengers[0]!
  const one = createContext(around, { delivery, rules, topic }, signal)
  const correlations = new Set(passengers.map(({ event }) => event.extensions.correlationid))
  const isOneStory = passengers.length === 1 || (correlations.size === 1 && !correlations.has(undefined))
  return {
    batcher: batch.name,
    get signal() {
      return signal()
    },
    log: (text, fields) => one.log(text, { batch: passengers.length, ...fields }),
    call: one.call,
    // what several stories led to belongs to none of them, unless the handler says so
    publish: (type, data, options = {}) =>
      isOneStory
        ? one.publish(type, data, options)
        : around.publish(type, data, { source: rules.service, ...options }),
  }
}
