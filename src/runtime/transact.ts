import type { Tools } from '../contracts/tools.ts'
import type { Delivery, Inlet, Settled } from '../contracts/transport.ts'
import type { Effect, Outgoing, Sql, StoreTx, Tx } from '../contracts/tx.ts'
import { ReprieveError } from '../core/error.ts'
import type { Event } from '../core/event.ts'
import { heldHere } from '../core/ledger.ts'
import type { Rules } from '../rules/index.ts'
import { keyOf } from './claims.ts'
import { ackOf } from './step.ts'

/** The transaction of one attempt, as it stands. */
export interface Transacting {
  /** committed: all of it is there · before: it was committed by an earlier attempt, or by another worker */
  is: 'running' | 'undone' | 'committed' | 'before' | 'conflict'
  /** The delivery was acknowledged in the same commit. */
  acked: boolean
  /** Nobody waits for it any more: it must not be committed. */
  abandoned: boolean
  /** Another had the event when it was to be committed. */
  lost?: true
  /** What is published inside it. */
  readonly events: Event[]
}

/** The door its event came in by. */
export interface TxDoor {
  readonly inlet: Inlet
  /** The inlet's own database is the one that the effect is in. */
  readonly settles: boolean
  /** It is an inlet of the app's transport, not of the companion. */
  readonly direct: boolean
  /** Claims of its deliveries are in the ledger of the app's store. */
  readonly own: boolean
}

/** Of an attempt, what its transaction needs. */
export interface InHand {
  readonly delivery: Delivery
  readonly rules: Rules
  /** Absent in a batch, which has no transaction. */
  readonly door?: TxDoor
  tx?: Transacting | undefined
}

export type Transact = <T>(
  at: InHand,
  fn: (client: never) => T | Promise<T>,
  signal: () => AbortSignal,
) => Promise<T>

export interface TransactOptions {
  /** The user's own, or the store's; undefined: there is none. */
  readonly tx: Tx | StoreTx | undefined
  readonly topic: (type: string) => string
  readonly tools: Tools
  /** Events were committed and wait to be relayed. */
  readonly ring: () => void
}

export const isStoreTx = (tx: Tx | StoreTx): tx is StoreTx => 'commit' in tx

export const createTransact = ({ tx, topic, tools, ring }: TransactOptions): Transact => {
  return async (at, fn, signal) => {
    if (!tx) throw nothingToBegin()
    if (at.tx) throw twice()
    const state: Transacting = { is: 'running', acked: false, abandoned: false, events: [] }
    at.tx = state
    const check = () => {
      if (signal().aborted) throw signal().reason
      if (state.abandoned) throw notAwaited()
    }
    try {
      const value = isStoreTx(tx)
        ? await inStore(tx, at, state, fn as (client: Sql) => unknown, check)
        : await inTheirs(tx, at, state, fn as (client: unknown) => unknown, check, signal())
      state.is = 'committed'
      return value as never
    } catch (error) {
      const code = error instanceof ReprieveError ? error.code : undefined
      state.is = code === 'already_done' ? 'before' : code === 'conflict' ? 'conflict' : 'undone'
      throw error
    } finally {
      if (state.is === 'committed' && state.events.length > 0) ring()
    }
  }

  /** The mark first: of two workers with the same event one waits there, and finds it done. */
  async function inTheirs<T>(
    theirs: Tx,
    at: InHand,
    state: Transacting,
    fn: (client: unknown) => T | Promise<T>,
    check: () => void,
    signal: AbortSignal,
  ): Promise<T> {
    const { service, id, hash, ttl } = keyOf(at.rules, at.delivery.parcel)
    check()
    return theirs.run(async (client) => {
      const now = tools.clock.now()
      const marked = await theirs.finish(client, { service, id, hash, now, until: now + ttl })
      if (marked !== 'fresh') throw known(marked)
      const value = await fn(client)
      check()
      if (state.events.length > 0) await theirs.publish(client, state.events)
      check()
      return value
    }, signal)
  }

  async function inStore<T>(
    store: StoreTx,
    at: InHand,
    state: Transacting,
    fn: (client: Sql) => T,
    check: () => void,
  ): Promise<T> {
    let value: T | undefined
    const { inlet, settles, own, direct } = at.door!
    const isHere = settles && direct
    const run = (database: Sql): readonly Outgoing[] => {
      check()
      state.events.splice(0) // an earlier run was undone
      value = fn(database)
      if (isPromise(value)) {
        value.catch(() => {}) // the refusal below is what is told
        throw mustBeSync()
      }
      return state.events.map((event) => (isHere ? { topic: topic(event.type), event } : { event }))
    }
    const { delivery, rules } = at
    const held = own ? heldHere(delivery.claim) : undefined
    const effect: Effect = { key: keyOf(rules, delivery.parcel), run, ...(held && { held }) }
    const settled = settles ? await settleWith(inlet, delivery, effect) : await store.commit(effect)
    if (settled instanceof Error) throw settled
    if (settled === 'lost') {
      state.lost = true
      throw lost()
    }
    state.acked = settles
    return value as T
  }

  async function settleWith(inlet: Inlet, delivery: Delivery, effect: Effect): Promise<Settled> {
    const ack = ackOf(delivery, 'done', tools.clock.now()) as { do: 'ack'; delivery: Delivery }
    const [settled] = await inlet.settle([{ ...ack, effect }])
    return settled!
  }
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof (value as { then?: unknown } | undefined)?.then === 'function'

const known = (marked: 'done' | 'conflict'): ReprieveError =>
  marked === 'done'
    ? new ReprieveError('already_done', 'the transaction of this event was committed before')
    : new ReprieveError('conflict', 'an event with this id and another payload was seen before')

/** Another worker has the event now. Whatever this attempt becomes changes nothing. */
const lost = (): ReprieveError =>
  new ReprieveError('unavailable', 'the event was no longer ours when its transaction was to be committed')

const nothingToBegin = (): ReprieveError =>
  new ReprieveError('bad_usage', 'ctx.tx was called, and the app has no database to begin a transaction in', {
    fix: 'give it one: reprieve({ tx: postgresTx(pool) }), or run it on sqlite:app.db',
  })

const twice = (): ReprieveError =>
  new ReprieveError('bad_usage', 'ctx.tx was called twice in one attempt', {
    fix: 'do all of it in one function: a transaction ends the event',
  })

export const notAwaited = (): ReprieveError =>
  new ReprieveError('bad_usage', 'the handler ended before its transaction, which was undone', {
    fix: 'await ctx.tx(…)',
  })

const mustBeSync = (): ReprieveError =>
  new ReprieveError(
    'bad_usage',
    'on SQLite the function of ctx.tx must be synchronous; nothing of it was kept',
    {
      fix: 'await what you need before ctx.tx, then write: await ctx.tx((db) => { … })',
    },
  )

export const publishedAfter = (type: string): ReprieveError =>
  new ReprieveError('bad_usage', `'${type}' was published after the transaction of its event was committed`, {
    fix: 'publish it inside the function of ctx.tx, so that it is part of the transaction',
  })
