import type { Settled } from '../../contracts/transport.ts'
import type { Effect, Mark, Marked, Outgoing } from '../../contracts/tx.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Event } from '../../core/event.ts'
import { isSamePayload } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import type { Account } from './account.ts'
import type { Run } from './fate.ts'

/** What a handler is given inside of `ctx.tx`. */
export interface Client {
  /** Its effect; like all that is done in a transaction nobody sees it before the commit. */
  book(run: Run): void
}

/** A transaction that is open. */
export interface Open {
  readonly client: Client
  readonly booked: Run[]
  readonly events: Event[]
  mark: Mark | undefined
}

export interface Waiting {
  readonly event: Event
  /** The end of a lease, or a time before which it is not tried again. */
  at: Instant
}

/** A database with an inbox and an outbox, that outlives every process. The model hears of what is committed. */
export interface Database {
  readonly outbox: Set<Waiting>
  /** Rows of the inbox that an open transaction has written, by name, until it is over. */
  readonly locks: Map<string, Promise<void>>
  begin(): Open
  /** Whether the effect of this event has happened. */
  met(mark: Pick<Mark, 'service' | 'id' | 'hash'>): Marked
  commit(open: Open): void
  /**
   * A commit of which the end of a delivery or a claim is part: `letGo` answers whether that was still ours. Where the
   * effect leads to events of this very database they are told to `deliver`.
   */
  settle(effect: Effect, letGo: () => boolean, deliver: (outgoing: Required<Outgoing>) => void): Settled
}

/** `apart`, a bug of our own making: the effect is committed by itself, whatever becomes of the rest. */
export const createDatabase = (account: Account, now: () => Instant, apart = false): Database => {
  const inbox = new Map<string, string>()
  const outbox = new Set<Waiting>()

  const begin = (): Open => {
    const booked: Run[] = []
    return { client: { book: (run) => void booked.push(run) }, booked, events: [], mark: undefined }
  }
  const met: Database['met'] = (mark) => {
    const hash = inbox.get(nameOf(mark))
    if (hash === undefined) return 'fresh'
    return isSamePayload(hash, mark.hash) ? 'done' : 'conflict'
  }
  const commit = ({ booked, events, mark }: Open): void => {
    if (mark) inbox.set(nameOf(mark), mark.hash)
    for (const run of booked) account.committed(run)
    for (const event of events) {
      account.accepted(event)
      outbox.add({ event, at: now() })
    }
  }

  return {
    outbox,
    locks: new Map(),
    begin,
    met,
    commit,
    settle: (effect, letGo, deliver) => {
      const { service, id, hash, ttl } = effect.key
      const mark: Mark = { service, id, hash, now: now(), until: now() + ttl }
      const marked = apart ? 'fresh' : met(mark)
      if (marked !== 'fresh') return knownAs(marked)
      const open = begin()
      let outgoing: readonly Outgoing[]
      try {
        outgoing = effect.run(open.client as never)
      } catch (error) {
        return error as Error
      }
      if (apart) commit(open)
      if (!letGo()) return 'lost'
      open.events.push(...outgoing.filter(({ topic }) => topic === undefined).map(({ event }) => event))
      commit({ ...open, ...(apart ? { booked: [] } : { mark }) })
      for (const { topic, event } of outgoing) {
        if (topic === undefined) continue
        account.accepted(event)
        deliver({ topic, event })
      }
      return 'done'
    },
  }
}

const knownAs = (marked: 'done' | 'conflict'): ReprieveError =>
  new ReprieveError(marked === 'done' ? 'already_done' : 'conflict', `the inbox says ${marked}`)

export const nameOf = ({ service, id }: Pick<Mark, 'service' | 'id'>): string => `${service}/${id}`
