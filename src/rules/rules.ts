import type { Override } from '../core/classify.ts'
import type { Priority } from '../core/event.ts'
import type { KeyChoice } from '../core/idempotency-key.ts'
import type { Policy } from '../core/policy.ts'
import type { Redaction } from '../core/redact.ts'
import type { Millis } from '../core/time.ts'
import type { Alert, Breaker, Dependency, Poison } from './builtin.ts'

/** What the rule book says for one service and one event: nothing left open. */
export interface Rules {
  readonly service: string
  readonly event: string
  readonly consumerGroup: string
  readonly topic: string
  /** The nearest place at which the book speaks of this pair. */
  readonly covered: 'exact' | 'prefix' | 'service' | 'default'
  readonly policy: Policy
  /** For one attempt of the handler. */
  readonly timeout: Millis
  /** The handler's own; those of its dependencies stand with them. */
  readonly breaker?: Breaker
  readonly dependencies: readonly Dependency[]
  /** The first that matches counts. */
  readonly overrides: readonly Override[]
  readonly idempotency: Idempotency
  readonly deadLetter: DeadLetter
  /** Absent: switched off. */
  readonly poison?: Poison
  readonly alerts: readonly Alert[]
  readonly channel?: string
  readonly order: 'none' | 'key'
  /** With order by key: what becomes of those that come after one that died. */
  readonly afterDeath: 'continue' | 'hold'
  readonly batch?: Batch
  /** So many handlers at once for all events of this row; absent: as many as the service has. */
  readonly concurrency?: { readonly most: number; readonly row: string }
  readonly ttl?: Millis
  readonly priority?: Priority
  readonly criticality: 'low' | 'medium' | 'high' | 'critical'
  readonly dataLoss: 'acceptable' | 'unacceptable'
  /** What must not be kept of it when it dies; absent: all may. */
  readonly redact?: readonly Redaction[]
  /** Where each value comes from, by its dotted path in here; absent values have none. */
  readonly provenance: Readonly<Record<string, Provenance>>
}

/** `code`: a function of the app's own said it. */
export type Provenance = { readonly file: string; readonly line: number } | 'built in' | 'code'

export interface Idempotency {
  readonly pattern: 'dedup' | 'upsert' | 'state' | 'transaction' | 'none'
  /** A name in the book's stores. */
  readonly store: string
  readonly ttl: Millis
  readonly key: KeyChoice
}

export interface DeadLetter {
  readonly destination: string
  /** Where poison goes; it holds `{kind}` where each kind of failure has one of its own. */
  readonly quarantine: string
  /** How long the office keeps letters. */
  readonly retention: Millis
  /** After how long the broker itself drops them; absent: never. */
  readonly expire?: Millis
  readonly reprocessing: 'manual' | 'automatic' | 'filtered'
  readonly channel?: string
}

export interface Batch {
  /** Of the batcher, where it is one of the service's own. */
  readonly name?: string
  /** How many events it holds at most. */
  readonly size: number
  readonly timeout: Millis
  readonly concurrency: number
  /** What the events of one batch have in common. */
  readonly by: 'none' | 'source'
}

/** Batches that several events of a service share. */
export interface Batcher extends Batch {
  readonly name: string
  /** It takes every event of these priorities, whatever their rows say. */
  readonly priorities?: readonly Priority[]
}

/** How a service asks for events. */
export interface Demand {
  /** How long to wait between two looks, where nobody wakes it. */
  readonly poll: Millis
  /** How many at most for each look. */
  readonly atOnce: number
  /** A worker asks again when it has only this many left … */
  readonly min: number
  /** … and never has more than this. */
  readonly max: number
}

/** What holds for a service as a whole. */
export interface ServiceRules {
  readonly service: string
  readonly consumerGroup: string
  /** Handlers that run at once. */
  readonly concurrency: number
  /** Deliveries that may be out and unsettled at once. */
  readonly window: number
  readonly lease: Millis
  /** Absent: as the transport thinks best. */
  readonly demand?: Demand
  /** Retries and burials are one transaction with the ack, where the transport has such. */
  readonly transactions: boolean
  readonly batchers: ReadonlyMap<string, Batcher>
  readonly provenance: Readonly<Record<string, Provenance>>
}
