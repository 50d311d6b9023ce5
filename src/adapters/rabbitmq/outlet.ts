import type { Tools } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import { within } from '../../core/within.ts'
import {
  type Batch,
  type Fate,
  giveUp,
  hearOf,
  type Late,
  markReturned,
  settleFate,
  throughOf,
} from './batch.ts'
import { type ConfirmChannel, type Connection, replyCode } from './client.ts'
import type { Counts } from './counts.ts'
import { createHold, type Hold } from './hold.ts'
import type { Link } from './link.ts'
import { TIERS, tierName } from './names.ts'
import { LEADERLESS, OVER, openChannel, PATIENCE } from './patience.ts'
import { limitIn, TooLarge } from './too-large.ts'
import { declareExchange, declareOn, declareTier } from './topology.ts'
import { closedError, isUnavailable, unavailable } from './unreachable.ts'
import type { Outgoing } from './write.ts'

/** A way out: everything that is published by one of `openOutlet` goes through one channel that confirms. */
export interface Outlet {
  /** One fate each, in order; it never rejects. `first` is asked before anything is sent, within the same time. */
  send(items: readonly Outgoing[], first?: Asked): Promise<readonly Fate[]>
  /**
   * From now on every tier is there before it is needed: a broker that is killed forgets a queue of the last seconds, with
   * all it confirmed. It never rejects: what can't be had is told to whoever needs it.
   */
  foresee(): Promise<void>
  close(): void
}

type Asked = (connection: Connection) => Promise<unknown>

/** What outlets know together. */
export interface Shared {
  /** Whatever way it went: tried again, the same copy may go into another tier. */
  readonly late: Late
  /** Of each connection: it may be that of a new broker. */
  readonly known: WeakMap<Connection, Known>
  foreseeing: boolean
}

interface Known {
  /** The tiers that are known to exist. */
  readonly tiers: Set<Millis>
  foreseen: Promise<void> | undefined
}

export const freshShared = (): Shared => ({ late: new WeakMap(), known: new WeakMap(), foreseeing: false })

interface Open {
  readonly connection: Connection
  readonly channel: ConfirmChannel
  readonly batches: Set<Batch>
  readonly known: Known
  /** There while the channel's buffer is full. */
  full: Hold | undefined
  reason: Error | undefined
}

interface Ready {
  readonly mine: Open
  /** The tiers that can't be had, and why. */
  readonly refused: ReadonlyMap<Millis, Error>
}

const NOTHING: Ready['refused'] = new Map()

export const openOutlet = (
  link: Link,
  exchange: string,
  tools: Tools,
  counts: Counts,
  shared = freshShared(),
): Outlet => {
  const { clock } = tools
  const { place } = link
  let open: Open | undefined
  let opening: Promise<Open> | undefined
  let closed = false
  /** The largest message that the broker takes, once it has said so: for as long as the connection lives. */
  let most = { of: undefined as Connection | undefined, bytes: Number.POSITIVE_INFINITY }

  const knownOf = (connection: Connection): Known => {
    const known = shared.known.get(connection) ?? { tiers: new Set(), foreseen: undefined }
    shared.known.set(connection, known)
    return known
  }

  const begin = async (): Promise<Open> => {
    const connection = await link.patiently()
    await declareOn(connection, clock, place, declareExchange(exchange))
    const channel = await openChannel(clock, place, connection.createConfirmChannel())
    const mine: Open = {
      connection,
      channel,
      batches: new Set(),
      known: knownOf(connection),
      full: undefined,
      reason: undefined,
    }
    if (most.of !== connection) most = { of: connection, bytes: Number.POSITIVE_INFINITY }
    channel.on('error', (error) => {
      mine.reason = error
      mine.known.tiers.clear() // it may be for one of them that is gone
      const bytes = limitIn(error)
      if (bytes !== undefined) most = { of: connection, bytes }
    })
    channel.on('drain', () => roomy(mine))
    channel.on('close', () => leave(mine))
    channel.on('return', (message) => markReturned(mine.batches, message))
    open = mine
    if (shared.foreseeing) void declareAll(mine) // beside what is sent: it may be a new broker
    return mine
  }

  const declareNow = async (mine: Open, tier: Millis): Promise<void> => {
    await declareOn(mine.connection, clock, place, declareTier(tier))
    mine.known.tiers.add(tier)
  }

  /** The longest by itself, as the last: of the queues that a broker makes only that one may be forgotten (topology.ts). */
  const declareAll = (mine: Open): Promise<void> => {
    const declared = (tiers: readonly Millis[]) =>
      Promise.allSettled(tiers.map((tier) => declareNow(mine, tier)))
    const { known } = mine
    known.foreseen ??= declared(TIERS.slice(0, -1)).then(async () => void (await declared(TIERS.slice(-1))))
    return known.foreseen
  }

  const foresee = async (): Promise<void> => {
    shared.foreseeing = true
    const mine = open ?? (await reopen().catch(() => undefined)) // nothing is lost: it is opened again by what is sent
    if (mine) await declareAll(mine)
  }

  const roomy = (mine: Open): void => {
    mine.full?.end()
    mine.full = undefined
  }

  const leave = (mine: Open): void => {
    if (open === mine) open = undefined
    roomy(mine)
  }

  const reopen = (): Promise<Open> => {
    opening ??= begin().finally(() => {
      opening = undefined
    })
    return opening
  }

  const isReadyFor = (items: readonly Outgoing[]): boolean =>
    open !== undefined && items.every(({ tier }) => tier === undefined || open!.known.tiers.has(tier))

  const prepare = async (
    items: readonly Outgoing[],
    first: Asked | undefined,
    signal: AbortSignal,
  ): Promise<Ready> => {
    await link.unblocked(signal) // what it does not take now it would have twice when it is sent again
    signal.throwIfAborted() // nobody hears it
    const mine = open ?? (await reopen())
    await first?.(mine.connection)
    const refused = new Map<Millis, Error>()
    for (const { tier } of items) {
      if (tier === undefined || mine.known.tiers.has(tier) || refused.has(tier)) continue
      try {
        await declareNow(mine, tier)
      } catch (error) {
        // what the broker refuses of one tier is nobody else's trouble
        if (replyCode((error as Error).cause) === undefined) throw error
        refused.set(tier, error as Error)
      }
    }
    return { mine, refused }
  }

  /** All of it has one time: to connect, to open a channel, to declare. */
  const ready = async (items: readonly Outgoing[], first: Asked | undefined): Promise<Ready> => {
    if (closed) throw closedError(place)
    if (!first && isReadyFor(items) && link.blocked() === undefined) return { mine: open!, refused: NOTHING }
    const late = () => unavailable(place, `not ready to send within ${PATIENCE} ms`)
    const over = new AbortController()
    try {
      return await within(clock, PATIENCE, prepare(items, first, over.signal), late)
    } catch (error) {
      throw (isUnavailable(error) && heldUp()) || error
    } finally {
      over.abort(OVER)
    }
  }

  /** A broker with an alarm hears nothing at all from whoever has published. */
  const heldUp = (): ReprieveError | undefined => {
    const blocked = link.blocked()
    return blocked === undefined
      ? undefined
      : unavailable(place, `it takes no messages at the moment (${blocked})`)
  }

  const send = async (items: readonly Outgoing[], first?: Asked): Promise<readonly Fate[]> => {
    if (items.length === 0) return []
    let mine: Open
    let without: Ready['refused']
    try {
      ;({ mine, refused: without } = await ready(items, first))
    } catch (error) {
      return items.map(() => error as Error)
    }
    counts.published += items.length
    counts.waits++
    const done = new AbortController()
    return new Promise((resolve) => {
      const batch: Batch = {
        items,
        fates: new Array(items.length),
        unroutable: new Set(),
        left: items.length,
        written: 0,
        moved: false,
        over: false,
        end: () => {
          batch.over = true
          mine.batches.delete(batch)
          done.abort(OVER)
          resolve(batch.fates)
        },
      }
      mine.batches.add(batch)
      void write(mine, batch, without, done.signal)
      if (!batch.over) void watch(mine, batch, done.signal)
    })
  }

  /** Pipelined: nothing waits for a confirm before the next goes out, only for room in the buffer. */
  const write = async (
    mine: Open,
    batch: Batch,
    without: Ready['refused'],
    signal: AbortSignal,
  ): Promise<void> => {
    const { channel } = mine
    for (let i = 0; i < batch.items.length; i++) {
      if (mine.full) await mine.full.over(signal)
      if (batch.over) return
      const item = batch.items[i]!
      batch.written = i + 1
      const late = item.of && shared.late.get(item.of)
      if (late) {
        hearOf(late, batch, i)
        continue
      }
      const undeclared = item.tier === undefined ? undefined : without.get(item.tier)
      if (undeclared) {
        settleFate(batch, i, undeclared)
        continue
      }
      const confirmed = (error: Error | null) => {
        if (error) return settleFate(batch, i, refused(mine, item, error))
        if (!batch.unroutable.has(i)) return settleFate(batch, i, 'kept')
        if (item.tier === undefined) return settleFate(batch, i, 'unroutable')
        mine.known.tiers.delete(item.tier) // someone deleted it: whoever comes next declares it again
        settleFate(batch, i, unavailable(place, `the queue '${tierName(item.tier)}' was not there`))
      }
      if (item.body.length > most.bytes) {
        settleFate(batch, i, refused(mine, item))
        continue
      }
      try {
        if (!channel.publish(throughOf(item), item.key, item.body, item.options, confirmed))
          mine.full ??= createHold()
      } catch (error) {
        if (!isUnwritable(error)) leave(mine) // it was closed before anybody listened
        settleFate(batch, i, refused(mine, item, error as Error))
      }
    }
  }

  /** The broker has `PATIENCE` for each step forward, not for the whole of a large batch. */
  const watch = async (mine: Open, batch: Batch, signal: AbortSignal): Promise<void> => {
    do {
      batch.moved = false
      await clock.sleep(PATIENCE, signal)
    } while (batch.moved && !batch.over)
    if (batch.over) return
    const error =
      heldUp() ?? unavailable(place, `no confirm within ${PATIENCE} ms`, undefined, { fix: LEADERLESS })
    giveUp(batch, mine.batches, shared.late, error)
  }

  const refused = (mine: Open, { body }: Outgoing, error?: Error): Error => {
    if (body.length > most.bytes) return new TooLarge(place, body.length, most.bytes)
    if (isUnwritable(error)) {
      return new ReprieveError('bad_event', `RabbitMQ's client can't write it: ${error.message}`, {
        fix: 'let headers and attributes be fewer or smaller: they have 64 KB together',
        cause: error,
      })
    }
    return unavailable(place, 'a message was not confirmed', mine.reason ?? error)
  }

  return {
    send,
    foresee,
    close: () => {
      closed = true // its channel goes with the connection
    },
  }
}

const isUnwritable = (error: unknown): error is Error =>
  error instanceof RangeError || error instanceof TypeError
