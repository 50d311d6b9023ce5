import type { Event } from '../core/event.ts'
import type { Held, LedgerKey } from '../core/ledger.ts'
import type { Instant } from '../core/time.ts'

/** What remembers that an event's effect has happened: one row in the same database, in the same commit. */
export interface Mark {
  readonly service: string
  /** The ledger key of the event. */
  readonly id: string
  /** Of the payload: the same id with another hash is a conflict; `*`, of a repaired one, conflicts with none. */
  readonly hash: string
  readonly now: Instant
  /** When it may be forgotten. */
  readonly until: Instant
}

/** fresh: marked now · done: it was marked before · conflict: known with another payload */
export type Marked = 'fresh' | 'done' | 'conflict'

/**
 * Transactions in a database of the user's, by whatever library it is used. A second delivery of an event meets the
 * mark of the first; two that run at the same time must wait for each other at `finish`.
 */
// biome-ignore lint/suspicious/noExplicitAny: whatever the library calls a connection
export interface Tx<Client = any> {
  readonly name: string
  /** Called once, before anything else: makes what is missing. */
  ready?(): Promise<void>
  /**
   * Begins, runs the work and commits; resolves when that is durable. What the work throws is thrown, and nothing of it
   * stays. An abort ends it at once, whatever the work is waiting for, and nothing of it stays.
   */
  run<T>(work: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Within `run`, first of all. */
  finish(client: Client, mark: Mark): Promise<Marked>
  /** Within `run`, or within a transaction that the user began: keeps events until they are relayed. */
  publish(client: Client, events: readonly Event[]): Promise<void>
  /** Absent where somebody else relays what `publish` keeps. */
  readonly outbox?: Outbox
}

/** Events that were committed with an effect, and wait to be published. */
export interface Outbox {
  /**
   * Hands over what waits, in the order it was kept, and forgets what was published. Answers how many were handed over.
   * Several processes share the work; events with the same order key never pass each other. Whoever dies here leaves
   * all he had to the others: they may be published twice, under the same id. Where `publish` throws all stay.
   */
  relay(most: number, now: Instant, publish: (events: readonly Event[]) => Promise<Relayed>): Promise<number>
  /** Drops marks that may be forgotten, some at a time. */
  tidy?(now: Instant): Promise<void>
}

/** One answer for each event: true, published; a moment: not before then again. */
export type Relayed = readonly (true | Instant)[]

/**
 * The transaction of a store that is a file with one writer: the effect is synchronous, and shares a commit with all
 * else of that turn.
 */
export interface StoreTx {
  readonly name: string
  /** Effect, mark and events in one commit; 'lost' and errors: nothing of it stays. */
  commit(effect: Effect): Promise<'done' | 'lost' | Error>
  /** By a connection of the user's own to the same file, within a transaction of theirs: kept before it returns. */
  publish(client: unknown, events: readonly Event[]): void
  readonly outbox: Outbox
}

export interface Effect {
  /** Marked as done where there is no claim. `already_done` and `conflict` are answered as errors. */
  readonly key: LedgerKey
  /** The claim of the store's own ledger that it ends. */
  readonly held?: Held
  /** May be run again after all it did was undone. Answers with the events it led to. */
  run(database: Sql): readonly Outgoing[]
}

export interface Outgoing {
  /** Of this very database; absent: it is for the outbox. */
  readonly topic?: string
  readonly event: Event
}

/** A SQLite file within a transaction, as far as an effect may use it. */
export interface Sql {
  /** One or more statements that answer nothing. */
  exec(text: string): void
  prepare(text: string): SqlStatement
}

export interface SqlStatement {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint }
  get(...values: readonly SqlValue[]): Readonly<Record<string, SqlValue>> | undefined
  all(...values: readonly SqlValue[]): readonly Readonly<Record<string, SqlValue>>[]
}

export type SqlValue = null | number | bigint | string | Uint8Array
