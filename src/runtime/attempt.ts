import type { Delivery } from '../contracts/transport.ts'
import { classify } from '../core/classify.ts'
import { decodeData } from '../core/event.ts'
import { expiryOf } from '../core/expiry.ts'
import type { Failure } from '../core/failure.ts'
import type { Instant } from '../core/time.ts'
import type { Outcome } from '../core/verdict.ts'
import type { Rules } from '../rules/index.ts'
import type { BatchHandler } from './batch-handler.ts'
import { type Deadlines, runWithin } from './deadline.ts'
import { answerOf, type Context, type Handled, isLater, type Reply, type Schema } from './handler.ts'
import { refusedIn } from './held.ts'
import { validated } from './validated.ts'

/** A handler with the schema of its events' data, as it was registered: for one event, or for several together. */
export type Registered = Single | Together

export interface Single {
  readonly pattern: string
  readonly schema: Schema<unknown> | undefined
  readonly handle: (event: Handled<unknown>, ctx: Context) => Reply | Promise<Reply>
  readonly together?: undefined
}

export interface Together {
  readonly pattern: string
  readonly schema: Schema<unknown> | undefined
  readonly together: BatchHandler<unknown>
}

export interface AttemptOptions {
  readonly delivery: Delivery
  readonly registered: Single
  readonly rules: Rules
  readonly deadlines: Deadlines
  readonly stop: AbortSignal
  readonly now: () => Instant
  readonly context: (signal: () => AbortSignal) => Context
}

/** Decodes, validates and runs the handler under its deadline. Answers with an outcome, once; it never throws. */
export const attempt = (options: AttemptOptions, answer: (outcome: Outcome) => void): void => {
  const { delivery, registered, rules, deadlines, stop, context } = options
  if (delivery.broken !== undefined)
    return void answer({ is: 'refused', reason: 'undecodable', failure: broken(delivery.broken) })
  const { event } = delivery.parcel
  const expires = expiryOf(event, rules.ttl)
  if (expires !== undefined && expires <= options.now())
    return void answer({ is: 'refused', reason: 'expired', failure: expired(expires) })
  const { pattern, schema, handle } = registered
  runWithin(
    deadlines,
    rules.timeout,
    `handler ${pattern}`,
    stop,
    (signal) => {
      const value = decodeData(event)
      const ctx = context(signal)
      if (!schema) return handle({ ...event, data: value }, ctx)
      const data = validated(schema, value)
      return data instanceof Promise
        ? data.then((fit) => handle({ ...event, data: fit }, ctx))
        : handle({ ...event, data }, ctx)
    },
    (reply) => answer(outcomeOf(reply, rules.overrides, options.now)),
    (error) => answer(failed(error, rules.overrides, options.now())),
  )
}

const DONE: Outcome = { is: 'done' }

/** A reply that can't even be looked at is a failure of the handler that gave it. */
export const outcomeOf = (reply: Reply, overrides: Rules['overrides'], now: () => Instant): Outcome => {
  try {
    const said = answerOf(reply)
    if (!said) return DONE
    if (isLater(said)) return { is: 'put off', delay: said.delay, because: said.because }
    return { is: 'refused', reason: 'refused', failure: refused(said.because) }
  } catch (error) {
    return failed(error, overrides, now())
  }
}

/** A call that was refused is no failure of the handler's: it comes again when there is hope. */
export const failed = (error: unknown, overrides: Rules['overrides'], now: Instant): Outcome => {
  const failure = classify(error, overrides, now)
  const refused = refusedIn(error)
  if (!refused) return { is: 'failed', failure }
  const delay = Math.max(0, refused.retryAt - now)
  return { is: 'held up', delay, because: refused.message, failure }
}

const permanent = (kind: Failure['kind'], name: string, message: string): Failure => ({
  category: 'permanent',
  kind,
  name,
  message,
  because: `${name} is permanent`,
})

export const broken = (why: string): Failure => permanent('schema', 'Undecodable', why)
const refused = (why: string): Failure => permanent('business', 'Refused', why)
export const expired = (at: Instant): Failure =>
  permanent('expired', 'Expired', `the event was worth handling until ${new Date(at).toISOString()}`)
