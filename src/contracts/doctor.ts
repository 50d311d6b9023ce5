import type { Millis } from '../core/time.ts'
import type { Tools } from './tools.ts'
import type { Subscription } from './transport.ts'

/** One thing that was looked at. `fine` is said too: who reads it wants to know what was looked at. */
export interface Finding<C extends string = string> {
  readonly check: C
  /** wrong: it will not run, or will lose or double events · risky: it runs until the day that somebody is sorry */
  readonly level: 'wrong' | 'risky' | 'fine'
  /** The queue, topic, table or setting. */
  readonly where: string
  readonly what: string
  /** What comes of it. */
  readonly why?: string
  readonly fix?: string
}

/** What a rule book will ask of the place that is examined. */
export interface Needs {
  /** For a transport: what the services of the book will subscribe to. For a store: nothing. */
  readonly subscriptions: readonly Needed[]
  /** For a transport: where others put their dead letters, which the office takes over. */
  readonly foreign?: readonly NeededForeign[]
  /** For a transport: where the office hears how replays ended. Which name its store gave it is not known here. */
  readonly receipts?: string
  /** It is the app's own store, and keeps dead letters and the audit too. */
  readonly letters?: boolean
}

export interface Needed {
  readonly to: Subscription
  /** The longest that one attempt of a handler may take. */
  readonly attempt: Millis
  /** The longest that a delivery may stay unsettled: the last of a full window waits for those before it. */
  readonly unsettled: Millis
  /** How long after the first failure retries may still come. */
  readonly retries: Millis
  /** How long its dead letters are to be kept. */
  readonly retention: Millis
}

export interface NeededForeign {
  readonly name: string
  /** For so long a letter must be able to lie there: an office may be away. */
  readonly keep: Millis
}

/**
 * What an adapter brings beside `open`. Examining changes nothing and leaves nothing behind: what is missing and would
 * be made by `open` or `subscribe` is no fault. Rejects where nobody answers, with the same error as `open`; whatever
 * else can't be found out is left out, or told as a finding.
 */
export interface Doctor {
  /** The names of all checks it knows: each is explained in docs/doctor.md. */
  readonly checks: readonly string[]
  examine(url: string, needs: Needs, tools: Tools): Promise<readonly Finding[]>
}
