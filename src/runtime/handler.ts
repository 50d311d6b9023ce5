import { ReprieveError } from '../core/error.ts'
import type { Event } from '../core/event.ts'
import type { Issue } from '../core/issues.ts'
import type { Millis } from '../core/time.ts'
import type { Trail } from '../core/trail.ts'
import { readDuration } from '../rules/duration.ts'

/** An event as a handler sees it: its data decoded, and of the schema's type. */
export type Handled<Data> = Omit<Event, 'data'> & { readonly data: Data }

export type Handler<Data> = (event: Handled<Data>, ctx: Context) => Reply | Promise<Reply>

/** A handler answers with nothing (done) or with what should follow. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement answers void
export type Reply = void | undefined | Answer

export type Answer =
  | { readonly [ANSWER]: 'later'; readonly delay: Millis; readonly because: string }
  | { readonly [ANSWER]: 'dead'; readonly because: string }

const ANSWER: unique symbol = Symbol.for('reprieve.answer') as never

/** Not now: come back after the delay. No attempt is spent. */
export const later = (delay: Millis | string, because = 'the handler asked for later'): Answer => ({
  [ANSWER]: 'later',
  delay: typeof delay === 'string' ? millis(delay) : delay,
  because,
})

const millis = (text: string): Millis => {
  const read = readDuration(text)
  if (read === undefined)
    throw new ReprieveError('bad_usage', `later('${text}'): expected a duration like 500ms, 5s, 2m`)
  return read
}

/** Never: bury it now, for this reason. */
export const dead = (because: string): Answer => ({ [ANSWER]: 'dead', because })

export const answerOf = (reply: unknown): Answer | undefined =>
  typeof reply === 'object' && reply !== null && ANSWER in reply ? (reply as Answer) : undefined

export const isLater = (answer: Answer): answer is Extract<Answer, { delay: Millis }> =>
  answer[ANSWER] === 'later'

export interface Context {
  /** Aborts when the attempt's time is over or the service must stop. */
  readonly signal: AbortSignal
  /** Which attempt this is; the first is 1. */
  readonly attempt: number
  readonly trail: Trail
  /** The same for every attempt and replay of this event: hand it to whoever can use it. */
  readonly idempotencyKey: string
  readonly log: (text: string, fields?: Readonly<Record<string, unknown>>) => void
  /**
   * Runs `fn` against a named dependency: asks its breaker and its retry budget first, and gives it the dependency's
   * timeout, or that of one of its operations. Refused it throws `CallRefused`; let it pass, and the event is put off
   * with no attempt spent.
   */
  call<T>(dependency: string, fn: (signal: AbortSignal) => Promise<T> | T, operation?: string): Promise<T>
  /**
   * Runs `fn` in a transaction of your database, together with the mark that this event is done and the events that `fn`
   * publishes: all of it or nothing, and once, however often the event comes. On SQLite `fn` must be synchronous. Where it
   * was committed before, it throws a ReprieveError `already_done`: let it pass. It ends the event: what the handler does
   * after it is not tried again. Once in an attempt.
   */
  // biome-ignore lint/suspicious/noExplicitAny: whatever your library calls a connection
  tx<T, Client = any>(fn: (client: Client) => T | Promise<T>): Promise<T>
  /** Publishes an event that this one led to; the correlation id goes along. Inside `tx` it is part of the transaction. */
  publish(type: string, data?: unknown, options?: PublishOptions): Promise<string>
}

export interface PublishOptions {
  readonly id?: string
  readonly source?: string
  readonly subject?: string
  readonly time?: string
  readonly correlationId?: string
  readonly orderKey?: string
  readonly priority?: Event['extensions']['priority']
  /** RFC 3339, past which the event is no longer worth handling. */
  readonly expires?: string
  readonly datacontenttype?: string
  readonly dataschema?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A connection of yours with an open transaction: the event is published if, and only if, that is committed. */
  readonly tx?: unknown
}

/** Standard Schema v1, as far as it is used here: zod, valibot, arktype and others have it. */
export interface Schema<Data> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Data> | Promise<SchemaResult<Data>>
    readonly types?: { readonly input: unknown; readonly output: Data } | undefined
  }
}

type SchemaResult<Data> =
  | { readonly value: Data; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }
