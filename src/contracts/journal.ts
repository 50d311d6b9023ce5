import type { Failure } from '../core/failure.ts'
import type { DeathReason } from '../core/letter.ts'
import type { Instant, Millis } from '../core/time.ts'

/** What happened in a process. Metrics, traces, logs, alerts and the console only read it. */
export type Fact = { readonly at: Instant } & (
  | { readonly is: 'started' | 'drained' | 'paused' | 'resumed'; readonly service: string }
  | { readonly is: 'published'; readonly topic: string; readonly count: number }
  | ({ readonly is: 'done'; readonly attempt: number; readonly took: Millis } & About)
  | ({
      readonly is: 'failed'
      readonly attempt: number
      readonly took: Millis
      readonly failure: Failure
    } & About)
  | ({ readonly is: 'retry'; readonly attempt: number; readonly delay: Millis } & About)
  /** It runs with nothing beside it, for a process that had it died: so often. */
  | ({ readonly is: 'alone'; readonly crashes: number } & About)
  | ({ readonly is: 'held'; readonly delay: Millis; readonly because: string } & About)
  | ({
      readonly is: 'dead'
      readonly letter: string
      readonly reason: DeathReason
      readonly to: string
    } & About)
  | ({ readonly is: 'duplicate' | 'stale' | 'busy' | 'skipped' | 'lost' } & About)
  | ({
      readonly is: 'log'
      readonly text: string
      readonly fields: Readonly<Record<string, unknown>>
    } & About)
  | ({ readonly is: 'batch' | 'batch failed' } & BatchFact)
  | { readonly is: 'letter kept'; readonly letter: string; readonly service: string }
  | { readonly is: 'replayed'; readonly letter: string; readonly service: string }
  | { readonly is: 'discarded'; readonly letter: string; readonly service: string; readonly reason?: string }
  | { readonly is: 'resolved'; readonly letter: string; readonly service: string; readonly reason?: string }
  | { readonly is: 'restored'; readonly letter: string; readonly service: string; readonly reason?: string }
  | { readonly is: 'released'; readonly letter: string; readonly reason?: string }
  | { readonly is: 'receipt'; readonly letter: string; readonly outcome: string }
  | { readonly is: 'job'; readonly name: string; readonly took: Millis }
  /** A figure was over its line for a while, or is not any more. */
  | ({ readonly is: 'alert raised' | 'alert ended' } & AlertFact)
  | { readonly is: 'breaker'; readonly name: string; readonly from: string; readonly to: string }
  | {
      readonly is: 'trouble'
      readonly where: string
      readonly error: Error
      readonly retryIn?: Millis
      /** Where it is one event's own. */
      readonly about?: About
    }
  | { readonly is: 'notice'; readonly text: string }
)

/** How a batch went. Each of its events has facts of its own beside. */
export interface BatchFact {
  readonly service: string
  /** The pattern of the handler it was given to. */
  readonly handler: string
  readonly batcher?: string
  readonly size: number
  /** Of its events; where there are any the batch has failed. */
  readonly failed: number
  readonly took: Millis
  /** Why it left: it was full, its time to fill was over, or its one event had to be by itself. */
  readonly departed: 'full' | 'timeout' | 'alone'
  /** Its handler took longer than it may. */
  readonly timedOut: boolean
  /** Among those that failed are some of high or critical priority, or of critical events. */
  readonly critical: boolean
}

export interface AlertFact {
  readonly metric: string
  /** Of the service, or the breaker. */
  readonly of: string
  /** As it was when the alert was raised. */
  readonly figure: number
  readonly unit: 'count' | 'per minute' | 'ratio' | 'ms'
  readonly over: '>' | '>='
  readonly limit: number
  /** Since when the figure was over the limit. */
  readonly since: Instant
  readonly severity: 'info' | 'warning' | 'critical'
  readonly action: string
}

export interface About {
  readonly service: string
  readonly topic: string
  readonly type: string
  readonly event: string
  readonly correlation?: string
}

/** Takes a fact at once and never throws; readers must be quick. */
export type Journal = (fact: Fact) => void
