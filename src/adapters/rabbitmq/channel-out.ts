import type { Clock } from '../../contracts/tools.ts'
import type { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import { within } from '../../core/within.ts'
import { type Batch, type Late, markReturned } from './batch.ts'
import { type ConfirmChannel, type Connection, replyCode } from './client.ts'
import type { Hold } from './hold.ts'
import type { Link } from './link.ts'
import { TIERS } from './names.ts'
import { OVER, openChannel, PATIENCE } from './patience.ts'
import { limitIn } from './too-large.ts'
import { declareExchange, declareOn, declareTier } from './topology.ts'
import { closedError, isUnavailable, unavailable } from './unreachable.ts'
import type { Outgoing } from './write.ts'

/** The channel that a way out has: made when it is needed, and made again after it was lost. */
export interface ChannelOut {
  /**
   * Open, with the tiers that are needed. All of it has one time: to connect, to open a channel, to declare, and to ask `first`.
   * Rejects with `unavailable`, or what `first` says.
   */
  ready(items: readonly Outgoing[], first?: Asked): Promise<Ready>
  /** From now on every tier is there before it is needed. Never rejects. */
  foresee(): Promise<void>
  /** It is closed, and nobody said so. */
  leave(mine: Open): void
  /** Why nothing is taken at the moment, if so. */
  heldUp(): ReprieveError | undefined
  close(): void
}

export type Asked = (connection: Connection) => Promise<unknown>

export interface Open {
  readonly connection: Connection
  readonly channel: ConfirmChannel
  readonly batches: Set<Batch>
  readonly known: Known
  /** There while the channel's buffer is full. */
  full: Hold | undefined
  reason: Error | undefined
}

export interface Ready {
  readonly mine: Open
  /** The tiers that can't be had, and why. */
  readonly refused: ReadonlyMap<Millis, Error>
}

const NOTHING: Ready['refused'] = new Map()

/** What ways out know together. */
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
  /** The largest message that the broker takes, once it has said so. */
  most: number
}

export const freshShared = (): Shared => ({ late: new WeakMap(), known: new WeakMap(), foreseeing: false })

const freshKnown = (): Known => ({ tiers: new Set(), foreseen: undefined, most: Number.POSITIVE_INFINITY })

export const createChannelOut = (link: Link, exchange: string, clock: Clock, shared: Shared): ChannelOut => {
  const { place } = link
  let open: Open | undefined
  let opening: Promise<Open> | undefined
  let closed = false

  const knownOf = (connection: Connection): Known => {
    const known = shared.known.get(connection) ?? freshKnown()
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
    channel.on('error', (error) => {
      mine.reason = error
      mine.known.tiers.clear() // it may be for one of them that is gone
      mine.known.most = limitIn(error) ?? mine.known.most
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

  const ready = async (items: readonly Outgoing[], first?: Asked): Promise<Ready> => {
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

  return {
    ready,
    foresee,
    leave,
    heldUp,
    close: () => {
      closed = true // it goes with the connection
    },
  }
}
