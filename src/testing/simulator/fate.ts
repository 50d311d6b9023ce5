import type { Delivery } from '../../contracts/transport.ts'
import type { Event } from '../../core/event.ts'
import type { Letter } from '../../core/letter.ts'
import type { Parcel } from '../../core/parcel.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { Life } from './life.ts'

/** What the model knows of an event before anything happens to it. */
export interface Expectation {
  readonly service: string
  readonly id: string
  /** The second of two that have this id, with another payload. */
  readonly twin: boolean
  /** Of its payload. */
  readonly hash: string
  readonly type: string
  readonly does: string
  /** Attempts that the policy grants. */
  readonly limit: number
  readonly timeout: Millis
  readonly dedup: boolean
  /** Its effect is a transaction. */
  readonly transaction: boolean
  /** Published in the transaction of another. */
  readonly outgoing: boolean
  /** From then on it is not worth handling. */
  readonly expires: Instant
  /** Dead, it holds its order key. */
  readonly holds: boolean
  readonly orderKey?: string
}

/** What has become of one event in one service so far. */
export interface Fate extends Expectation {
  /** Someone was told that it is durable, and when. */
  accepted: Instant | undefined
  /** In which order the world took it in. */
  place: number
  /** Parcels of it that lie somewhere or are out. */
  homes: number
  /** How often the world took it in, by a publisher or by a broker that doubled it. */
  copies: number
  /** How often its handler was run. */
  tries: number
  /** Transactions of it that were committed. */
  effects: number
  /** A handler came to its end in time, or its transaction was committed. */
  completed: boolean
  /** It was acknowledged after that. */
  doneAt: Instant | undefined
  /** In which generation. */
  doneIn: number
  /** The moment, in the model's own count, from which on its completion is known to the world. */
  recorded: number | undefined
  /** By generation: the moment at which its letter was durable, and the letter's name. */
  readonly deaths: Map<number, { readonly moment: number; readonly letter: string }>
  /** The letter by which it holds its order key. */
  holding: string | undefined
  /** Somebody gave it up, so that those behind it go on. */
  freed: boolean
  /** Things that went wrong with it by intent. While there are none nothing is excused. */
  excuses: number
  /** Those of them that hit one call: a claim whose answer was lost is one that nobody knows of. */
  mishaps: number
  /** By attempt: processes that its handler ended. */
  readonly kills: Map<number, number>
  /** How often a process that ran it stood still. */
  stuns: number
  /** Processes that died of anything while they had it. */
  ends: number
  /** The earliest time for its next delivery, while there is one parcel of it. */
  due: Instant
  readonly failures: Map<number, number>
  readonly keys: Set<string>
  readonly outs: Out[]
  readonly runs: Set<Run>
  /** The latest token of its claims, and who holds it. */
  token: number
  claimedBy: Life | undefined
}

/** A delivery that is out. */
export interface Out {
  readonly fate: Fate
  readonly life: Life
  readonly delivery: Delivery
  readonly moment: number
  /** It was handed over again since, to whomever. */
  superseded: boolean
  run: Run | undefined
}

export interface Run {
  readonly fate: Fate
  readonly out: Out
  readonly began: Instant
  readonly attempt: number
  completed: boolean
}

export const newFate = (expected: Expectation): Fate => ({
  ...expected,
  accepted: undefined,
  place: -1,
  homes: 0,
  copies: 0,
  tries: 0,
  effects: 0,
  completed: false,
  doneAt: undefined,
  doneIn: 0,
  recorded: undefined,
  deaths: new Map(),
  holding: undefined,
  freed: false,
  excuses: 0,
  mishaps: 0,
  kills: new Map(),
  stuns: 0,
  ends: 0,
  due: 0,
  failures: new Map(),
  keys: new Set(),
  outs: [],
  runs: new Set(),
  token: 0,
  claimedBy: undefined,
})

/** Whether this process has anything of it. */
export const isWith = (life: Life, { claimedBy, outs, runs }: Fate): boolean => {
  const isHis = (out: Out) => out.life === life
  return claimedBy === life || outs.some(isHis) || [...runs].some(({ out }) => isHis(out))
}

/** How often one who had it died, or could not say that it lives: it stands still, or a call went wrong. */
export const endsOf = ({ ends, mishaps, outs }: Fate, now: Instant): number =>
  ends + mishaps + outs.filter(({ life }) => !life.dead && life.pausedUntil > now).length

export const isOver = (fate: Fate): boolean => fate.doneAt !== undefined || fate.deaths.size > 0

export const nameOf = ({
  service,
  id,
  twin,
}: Pick<Expectation, 'service' | 'id'> & { twin?: boolean }): string => `${service}/${id}${twin ? "'" : ''}`

/** How the model knows one of two events with one id: the runtime carries headers, and goes by none of them. */
export const TWIN = { 'x-twin': 'true' }
export const isTwin = ({ headers }: Pick<Event, 'headers'>): boolean => 'x-twin' in headers

/** A letter, and whose it is: the same id with another payload in it is not the letter of that one. */
export const letterName = ({ id, event }: Pick<Letter, 'id' | 'event'>): string =>
  isTwin(event) ? `${id}'` : id

export const tellParcel = ({ trail, due }: Parcel, now: Instant): string =>
  `life ${trail.generation}, ${trail.spent} spent${due > now ? `, due in ${due - now} ms` : ''}`
