import type { Instant } from '../../core/time.ts'
import type { RawBatch, RawRecord } from './batches.ts'
import type { Aborted } from './fetch.ts'
import type { Run } from './marks.ts'

/** The time in which one partition is ours: what was fetched, what is out, what is finished. */
export interface Tenure {
  readonly topic: string
  readonly partition: number
  /** Of the topic that is read: one that is deleted and made anew has the same name and another id. */
  topicId: string | undefined
  /** Its records are parcels: each names its subscription and when it is due. */
  readonly parcels: boolean
  readonly shelves: ReadonlyMap<string, Shelf>
  /** The offset to fetch next. */
  readonly position: number
  /** Where the log ended when last seen. */
  end: number
  /** What the broker has as committed. */
  committed: number
  /** No longer ours: nothing of it may be settled any more. */
  over: boolean
  /** Bytes that wait to be handed over. */
  readonly bytes: number
  /** Records fetched and not behind the commit: what a stuck one holds up. */
  readonly span: number
  /** Records handed over and not settled. */
  readonly out: number
  /** How many unfinished records may have been out when the partition became ours. */
  readonly suspects: number
  /** How many unfinished records there are up to the last one that was ever handed over. */
  reach(): number
  /** Those of the oldest so many that are out. */
  stragglers(among: number): readonly Slot[]
  accept(batches: readonly RawBatch[], aborted: readonly Aborted[]): void
  /** What lies before that offset and was not fetched is gone; what was stays in hand. */
  skipTo(offset: number): void
  take(target: string, now: Instant): Slot | undefined
  giveBack(slot: Slot): void
  /** Takes those that have waited here as long as the longest tier, and are not due by far. */
  outstayed(now: Instant): readonly Slot[]
  /** One that could not go on after all waits here as before. */
  keep(slot: Slot): void
  /** What it has and has not begun to settle goes back; what it has no more is not its to settle. */
  takeBack(holder: object): void
  finish(slot: Slot): void
  /** The highest offset below which everything is finished, and what is finished past it; as if these were too. */
  progress(also?: ReadonlySet<Slot>): { readonly offset: number; readonly done: readonly Run[] }
}

/** Records of one partition for one subscription that wait to be handed over. */
export interface Shelf {
  readonly size: number
  /** Records whose time has come by then, without taking them. */
  ready(now: Instant): number
  put(slot: Slot): void
  /** To the head: it was taken before. */
  putBack(slot: Slot): void
  take(now: Instant): Slot | undefined
  outstayed(now: Instant): readonly Slot[]
  /** When the next of those that are held becomes due. */
  nextDue(): Instant
  oldest(): Instant | undefined
}

/** waiting: on a shelf · out: handed over · settling: being settled · done: finished, to be committed */
export type SlotState = 'waiting' | 'out' | 'settling' | 'done'

/** One record of a partition while the partition is ours. */
export interface Slot {
  readonly tenure: Tenure
  readonly offset: number
  /** Of a finished one that stands for all finished ones before it: the first of them. */
  readonly since?: number
  /** Infinity: its writer said nothing. */
  readonly timestamp: Instant
  /** The subscription's topic it is meant for: on a retry topic its header tells. */
  readonly target: string
  /** 0: not held at all. */
  readonly due: Instant
  readonly bytes: number
  /** Let go when it is done, so that one stuck record does not keep the memory of all behind it. */
  record: RawRecord | undefined
  state: SlotState
  redelivered: boolean
  /** Its new home is durable, only the commit is still to come. */
  housed: boolean
  /** Finished, but whether the commit arrived is not known: it may be settled again. */
  uncommitted: boolean
  /** Who has it, until it is settled. */
  holder: object | undefined
}
