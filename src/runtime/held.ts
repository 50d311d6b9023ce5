import { classify } from '../core/classify.ts'
import { FAILURE, type Told } from '../core/errors.ts'
import type { Instant } from '../core/time.ts'
import type { Outcome } from '../core/verdict.ts'
import type { Entered, Refused } from './guards.ts'

/**
 * Thrown by `ctx.call` where a breaker or budget refuses. A handler that lets it pass is put off until then, and no attempt
 * is spent; one that knows another way catches it.
 */
export class CallRefused extends Error {
  declare readonly [FAILURE]: Told
  readonly code = 'CALL_REFUSED'
  readonly dependency: string
  /** When it is worth asking again. */
  readonly retryAt: number

  constructor({ by, because, retryAt }: Refused, now: number) {
    super(because)
    this.name = 'CallRefused'
    this.dependency = by
    this.retryAt = retryAt
    // for whoever classifies it outside of a handler
    Object.defineProperty(this, FAILURE, {
      value: { category: 'transient', kind: 'integration', retryAfter: Math.max(0, retryAt - now) },
    })
  }
}

const DEEPEST = 8

/** The refusal that an error is, or was caused by. */
export const refusedIn = (error: unknown): CallRefused | undefined => {
  let link = error
  try {
    for (let depth = 0; depth < DEEPEST && link instanceof Error; depth++) {
      if (link instanceof CallRefused) return link
      link = link.cause
    }
  } catch {
    // what throws when it is looked at is none of ours
  }
  return undefined
}

export const heldUp = (refused: Refused, now: Instant): Outcome => ({
  is: 'held up',
  delay: Math.max(0, refused.retryAt - now),
  because: refused.because,
  failure: classify(new CallRefused(refused, now)),
})

/** How an attempt ended, to the handler's own breaker. */
export const tellGuard = (handler: Entered, outcome: Outcome, cutShort: boolean): void => {
  if (outcome.is === 'done') handler.success()
  else if (outcome.is === 'failed' && !cutShort && outcome.failure.category !== 'permanent') handler.failure()
  else handler.ignore()
}
