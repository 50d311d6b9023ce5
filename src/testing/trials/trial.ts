import type { Opened } from '../../contracts/adapter.ts'
import type { Tools } from '../../contracts/tools.ts'
import type { Address, Can } from '../../contracts/transport.ts'
import type { Message } from '../../core/cloudevents.ts'
import type { Instant, Millis } from '../../core/time.ts'

/** One conformance case, as data. Every adapter passes the same trials. */
export interface Trial {
  readonly name: string
  readonly about: 'transport' | 'ledger' | 'board' | 'letters' | 'operations'
  /**
   * Why the trial has no meaning here, in words; undefined: it has. Where an absence can be observed, a trial
   * asserts the absence rather than being skipped.
   */
  readonly needs?: (can: Can, world: TrialWorld) => string | undefined
  /** Throws where the adapter breaks its promise. Names are its own, so that trials can share a broker. */
  run(world: TrialWorld): Promise<void>
}

/** Where trials take place: a broker or a database, and the time there. */
export interface TrialWorld {
  /** A fresh connection, as another process would have it. */
  open(): Promise<Opened>
  /** Lets time pass, at most until the promise has settled: turns a virtual clock, or really waits. */
  wait(ms: Millis, until?: Promise<unknown>): Promise<void>
  now(): Instant
  /** A name that nothing else on this broker has. */
  name(prefix: string): string
  readonly tools: Tools
  /** How much later than promised still counts as in time: a busy machine is no broken promise. */
  readonly slack: Millis
  /** How long a trial waits for what must come. Spent in full only where it does not come. */
  readonly patience: Millis
  /** Writes a record past the adapter, as a foreign producer would. */
  readonly raw?: { put(to: Address, message: Message): Promise<void> }
}

export type TrialResult = Pick<Trial, 'name' | 'about'> & { readonly took: Millis } & (
    | { readonly is: 'passed' }
    | { readonly is: 'failed'; readonly error: Error }
    | { readonly is: 'skipped'; readonly reason: string }
  )
