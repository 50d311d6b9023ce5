import type { Tools } from '../contracts/tools.ts'
import { classify } from '../core/classify.ts'
import type { Failure } from '../core/failure.ts'
import type { Outcome } from '../core/verdict.ts'
import { notAwaited, type Transacting } from './transact.ts'

/**
 * What an attempt did whose handler used a transaction. Committed, it is done, whatever the handler made of it: to try it
 * again would find the mark and change nothing.
 */
export const afterTx = (
  tx: Transacting,
  outcome: Outcome,
  pattern: string,
  { clock, journal }: Tools,
): Outcome => {
  switch (tx.is) {
    case 'before':
      return DONE
    case 'conflict':
      return { is: 'refused', reason: 'conflict', failure: CONFLICT }
    case 'committed': {
      if (outcome.is === 'done') return outcome
      const what = 'failure' in outcome ? outcome.failure.message : outcome.because
      const error = new Error(`${what}; its transaction was committed before that, so the event is done`)
      journal({ at: clock.now(), is: 'trouble', where: `handler ${pattern} after its transaction`, error })
      return DONE
    }
    case 'running':
      tx.abandoned = true
      return outcome.is === 'done' ? { is: 'failed', failure: classify(notAwaited()) } : outcome
    case 'undone':
      return outcome
  }
}

/** Rules that promise what a handler does not do should not go unnoticed; once is enough. */
export const createReminder = ({ clock, journal }: Tools) => {
  const reminded = new Set<string>()
  return (service: string, pattern: string): void => {
    if (reminded.has(pattern)) return
    reminded.add(pattern)
    const text = `the rules of ${service} say idempotency: { pattern: transaction }, and its handler for ${pattern} ended without ctx.tx: nothing keeps its effect from happening twice`
    journal({ at: clock.now(), is: 'notice', text })
  }
}

const DONE: Outcome = { is: 'done' }

export const CONFLICT: Failure = {
  category: 'permanent',
  kind: 'business',
  name: 'Conflict',
  message: 'an event with this id and another payload was seen before',
  because: 'the same id must mean the same event',
}
