import type { Event } from '../core/event.ts'
import type { Found } from '../core/found.ts'
import type { Claim, LedgerKey } from '../core/ledger.ts'
import type { Letter, Receipt } from '../core/letter.ts'
import type { Ordering } from '../core/ordering.ts'
import type { Origin } from '../core/origin.ts'
import type { Parcel } from '../core/parcel.ts'
import type { Urgency } from '../core/rank.ts'
import type { Instant, Millis } from '../core/time.ts'
import type { Effect } from './tx.ts'

/** One consumer's door: everything that happens to an event in one service hangs on it. */
export interface Address {
  readonly service: string
  /** A topic's name; one that ends in `*` stands for every topic with that beginning (`can.patterns`). */
  readonly topic: string
  readonly consumerGroup: string
}

export interface Subscription extends Address {
  /** Types wanted, exact or with a trailing `*`. A transport may filter by them; the runtime does so anyway. */
  readonly types: readonly string[]
  readonly order: 'none' | 'key'
  /** With order by key: for which types, where not for all. Others are as if they had no order key. */
  readonly ordering?: Ordering
  /** Which types are urgent, where events don't say so themselves; absent: none. */
  readonly urgency?: Urgency
  /** How long a delivery is ours before it may be handed to someone else. */
  readonly lease: Millis
  /** The most deliveries that may be out and unsettled at once. */
  readonly window: number
  /** How often to look for what nobody tells of, where the transport has to look; absent: as it thinks best. */
  readonly poll?: Millis
  /** A new home and the ack of the old one are one transaction, where the transport has such; else it changes nothing. */
  readonly transactions?: boolean
  /** Dead-letter and quarantine destinations, made ready by `subscribe`. */
  readonly destinations: readonly Destination[]
  /** Where the transport `can.claims`: which claim a delivery needs; undefined = none. */
  readonly ledgerKey?: (parcel: Parcel, redelivered: boolean) => LedgerKey | undefined
}

export interface Destination {
  readonly name: string
  /** The broker itself drops what has lain there longer. Absent: it keeps it. */
  readonly expire?: Millis
  /** Someone else's: it is never created, and never changed but for what is taken from it. */
  readonly foreign?: boolean
}

/** One handing-over of an event, to be settled exactly once. Offsets, tags and leases stay in the adapter. */
export interface Delivery {
  readonly parcel: Parcel
  /** The transport can't rule out that this was handed over before. */
  readonly redelivered: boolean
  /** Present where the transport `can.claims` and the subscription asked for one. */
  readonly claim?: Claim
  /** The record could not be read as an event: why. Its parcel then carries the raw bytes. */
  readonly broken?: string
  /** A plain message of a foreign producer: it names no type, and has what the broker knows in its place. */
  readonly untyped?: true
  /** At a destination, of what is not ours: what the broker and its writer tell of it. */
  readonly found?: Found
}

/** A message that someone else wrote, on its way back to where it came from. */
export interface Returning {
  readonly origin: Origin
  readonly event: Event
  /** Put on it beside what it had. */
  readonly headers: Readonly<Record<string, string>>
}

export type Settlement = {
  readonly delivery: Delivery
} /** An effect is for a database that is transport and store at once: all of it is in the commit, or nothing. */ & (
  | { readonly do: 'ack'; readonly receipt?: Receipt; readonly effect?: Effect }
  | { readonly do: 'later'; readonly parcel: Parcel }
  /**
   * `holds`, where `can.order` is 'key': in the same step the event's order key is held. Its followers wait until a
   * replay of the letter has ended well, or the letter is released.
   */
  | { readonly do: 'bury'; readonly to: string; readonly letter: Letter; readonly holds?: boolean }
  | { readonly do: 'give back' }
)

/** done: it is durable · lost: the delivery was no longer ours, nothing changed · Error: unknown, may be tried again */
export type Settled = 'done' | 'lost' | Error

/** An order key that is held behind a dead letter. */
export interface DeadKey {
  readonly orderKey: string
  /** The letter's id. */
  readonly letter: string
}

/** What an adapter is able to do. Trials assert the absences too. */
export interface Can {
  /**
   * The longest wait it keeps in one go. A longer one goes to the companion; where there is none it is kept here all the
   * same, in as many goes as it takes: the parcel comes no earlier than it is due, and carries that time unchanged.
   */
  readonly later: Millis
  /** By how much a due parcel may come late by design (tiers, polling), for a wait of `ms`. */
  readonly late: (ms: Millis) => Millis
  /** key: over any number of workers · owner: only by owning a queue or partition · none */
  readonly order: 'none' | 'owner' | 'key'
  /**
   * A delivery runs out after the subscription's lease and goes to another worker, though its holder still lives.
   * Where it is false, a delivery is ours until the connection or the partition is lost.
   */
  readonly lease: boolean
  /** It can skip single types of a subscription. */
  readonly except: boolean
  /** It keeps the ledger in the same database: deliveries arrive with their claim, settle ends it. */
  readonly claims: boolean
  /** It can subscribe to a beginning of topic names. */
  readonly patterns: boolean
  /**
   * While fresh parcels are ready, retries are a fifth of what is handed over and no more than a fifth of the window is out
   * of them, however many wait, and neither waits for the other to run dry. Where it is false both come as they lie.
   */
  readonly fresh: boolean
  /** Urgent events (`priority` high or critical, or of an urgent type) are handed over before all others that are ready. */
  readonly urgent: boolean
  /** What becomes of an event published where nobody is subscribed, or, where the transport can tell, wants its type. */
  readonly unheard: 'refused' | 'kept'
}

/**
 * The way to a broker. Every method may be called concurrently. Nothing is ever dropped in silence: a promise
 * that resolves means durable, one that rejects says why.
 */
export interface Transport {
  readonly name: string
  readonly can: Can
  /** Resolves when all events are durable. On failure some may have been published: publishing again is safe. */
  publish(topic: string, events: readonly Event[]): Promise<void>
  /** Creates what the subscription needs, destinations included. Subscribing again is the same subscription. */
  subscribe(to: Subscription): Promise<Inlet>
  /**
   * The office's door: hands over what was buried or sent to a destination, and creates it where it is missing; one that
   * is `foreign` it does not create, but rejects.
   */
  collect(destination: Destination): Promise<Inlet>
  /**
   * To one subscription only: retries, replays, ordered events from a broker. Rejects where it does not exist. In the
   * order given, where the subscription keeps order by key: there a replay takes the place of the dead event that
   * its key is held behind, and what stands in the line of its key already is passed over.
   */
  forward(to: Address, parcels: readonly Parcel[]): Promise<void>
  /**
   * Where it hands over what others wrote (`Delivery.found`): sends it where it came from, as it was but for what brokers
   * added. One answer each: nothing where it is durable there, else why not, which is no other one's fault; `unheard` or
   * `unknown_destination` where nobody takes it any more.
   */
  sendBack?(messages: readonly Returning[]): Promise<readonly (Error | undefined)[]>
  /** Where `can.order` is 'key': what waits behind these letters goes on, in order. What holds no key is passed over. */
  release?(to: Address, keys: readonly DeadKey[]): Promise<void>
  /** Where `can.order` is 'key': how many wait behind each of these letters. */
  behind?(to: Address, keys: readonly DeadKey[]): Promise<readonly number[]>
  /** Closes what is still open. Unsettled deliveries will be handed over again, to whoever asks. */
  close(): Promise<void>
}

export interface Inlet {
  /** The broker keeps its window full, and sends on as soon as it hears of an ack: acks are not kept back for a turn. */
  readonly prompt?: true
  /**
   * Waits for at least one delivery, then answers with what is there, at most `max`. On abort answers with
   * nothing. Parcels come no earlier than they are due. Never more than the subscription's window are out.
   */
  receive(max: number, signal: AbortSignal, except?: ReadonlySet<string>): Promise<readonly Delivery[]>
  /**
   * One answer each, in order. A new home is durable before the old one is given up. Settling twice is 'lost'. What can't be
   * written, or has nowhere to go, is an Error of its own: the others of its batch are settled, and it may be settled again.
   */
  settle(batch: readonly Settlement[]): Promise<readonly Settled[]>
  /** Keeps deliveries ours until then; where there are no leases it does nothing. */
  extend(deliveries: readonly Delivery[], until: Instant): Promise<void>
  /** How much is ready and waiting to be received, what is out or not yet due not counted. */
  lag(): Promise<Lag>
  /** Stops receiving and hands unsettled deliveries back to be taken by others at once. */
  close(): Promise<void>
}

export interface Lag {
  readonly waiting: number
  readonly oldest?: Instant
  /** Not among the waiting: what is held behind dead letters. Absent: nothing. */
  readonly held?: number
}
