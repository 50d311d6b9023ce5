import { Permanent } from '../core/errors.ts'
import type { Trail } from '../core/trail.ts'
import { type Answer, answerOf, type Context, type Handled } from './handler.ts'

/** An event of a batch, with what a single handler finds in its context. */
export type Batched<Data> = Handled<Data> &
  Pick<Context, 'attempt' | 'idempotencyKey'> & { readonly trail: Trail }

/** What a batch handler is given beside the events. */
export interface BatchContext extends Pick<Context, 'signal' | 'log' | 'call' | 'publish'> {
  /** The batcher's name in the rule book, where it has one. */
  readonly batcher: string | undefined
}

/**
 * A batch handler answers with nothing (all done), with a list that has an entry for each event in their order, or
 * with one answer for all.
 */
export type BatchHandler<Data> = (
  events: readonly Batched<Data>[],
  ctx: BatchContext,
) => BatchReply | Promise<BatchReply>

/** nothing: done · an Error: this one failed · `later(…)`, `dead(…)`. What `Promise.allSettled` answers will do as well. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement answers void
export type BatchEntry = void | undefined | null | Error | Answer | PromiseSettledResult<unknown>

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement answers void
export type BatchReply = void | undefined | Answer | readonly BatchEntry[]

/** How one event of a batch went. */
export type Went = { readonly reply: Answer | undefined } | { readonly error: unknown }

const DONE: Went = { reply: undefined }

/** One for each event; throws where the answer is of another length: nobody could say whom it means. */
export const wentOf = (reply: unknown, count: number, handler: string): readonly Went[] => {
  if (!Array.isArray(reply)) return new Array<Went>(count).fill(entryOf(reply))
  if (reply.length !== count) throw new BadAnswer(handler, reply.length, count)
  // not every hole of a list is seen by map
  return Array.from(reply, entryOf)
}

const entryOf = (entry: unknown): Went => {
  if (entry instanceof Error) return { error: entry }
  if (isSettled(entry)) {
    return entry.status === 'rejected' ? { error: entry.reason } : saying(entry.value)
  }
  return saying(entry)
}

const saying = (value: unknown): Went => {
  const reply = answerOf(value)
  return reply ? { reply } : DONE
}

const isSettled = (entry: unknown): entry is PromiseSettledResult<unknown> =>
  typeof entry === 'object' &&
  entry !== null &&
  'status' in entry &&
  ((entry.status === 'rejected' && 'reason' in entry) || (entry.status === 'fulfilled' && 'value' in entry))

/** A defect of the handler: its effects may have happened, and to run it again mends nothing. */
export class BadAnswer extends Permanent {
  constructor(handler: string, given: number, wanted: number) {
    super(`the batch handler ${handler} answered with ${given} entries for ${wanted} events`)
    this.name = 'BadAnswer'
  }
}
