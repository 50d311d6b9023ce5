import type { Tools } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import type { ConfirmChannel, Message } from './client.ts'
import type { Counts } from './counts.ts'
import type { Link } from './link.ts'
import { tierName } from './names.ts'
import { OVER, openWithin, PATIENCE } from './patience.ts'
import { declareExchange, declareOn, declareTier } from './topology.ts'
import { closedError, unavailable } from './unreachable.ts'
import type { Outgoing } from './write.ts'

/** What became of a message: it is durable · no queue takes it · unknown, so it may be sent again. */
export type Fate = 'kept' | 'unroutable' | Error

/** The way out: everything that is published goes through one channel that confirms. */
export interface Outlet {
  /** One fate each, in order; it never rejects. */
  send(items: readonly Outgoing[]): Promise<readonly Fate[]>
  close(): void
}

interface Open {
  readonly channel: ConfirmChannel
  readonly batches: Set<Batch>
  /** The tiers that are known to exist. */
  readonly tiers: Set<Millis>
  /** There while the channel's buffer is full. */
  full: PromiseWithResolvers<void> | undefined
  reason: Error | undefined
}

interface Batch {
  readonly items: readonly Outgoing[]
  readonly fates: Fate[]
  readonly unroutable: Set<number>
  /** Made when the first message comes back. */
  index?: ReadonlyMap<string, readonly number[]>
  left: number
  moved: boolean
  over: boolean
  end(): void
}

export const openOutlet = (link: Link, exchange: string, tools: Tools, counts: Counts): Outlet => {
  const { clock } = tools
  const { place } = link
  let open: Open | undefined
  let opening: Promise<Open> | undefined
  let closed = false

  const begin = async (): Promise<Open> => {
    const connection = await link.patiently()
    await declareOn(connection, clock, place, declareExchange(exchange))
    const late = () => unavailable(place, `no channel within ${PATIENCE} ms`)
    const channel = await openWithin(clock, connection.createConfirmChannel(), late)
    const mine: Open = { channel, batches: new Set(), tiers: new Set(), full: undefined, reason: undefined }
    channel.on('error', (error) => {
      mine.reason = error
    })
    const roomy = () => {
      mine.full?.resolve()
      mine.full = undefined
    }
    channel.on('drain', roomy)
    channel.on('close', () => {
      if (open === mine) open = undefined
      roomy()
    })
    channel.on('return', (message) => markReturned(mine.batches, message))
    open = mine
    return mine
  }

  const reopen = (): Promise<Open> => {
    opening ??= begin().finally(() => {
      opening = undefined
    })
    return opening
  }

  const ready = async (items: readonly Outgoing[]): Promise<Open> => {
    if (closed) throw closedError(place)
    const mine = open ?? (await reopen())
    for (const { tier } of items) {
      if (tier === undefined || mine.tiers.has(tier)) continue
      await declareOn(await link.connection(), clock, place, declareTier(tier))
      mine.tiers.add(tier)
    }
    return mine
  }

  const send = async (items: readonly Outgoing[]): Promise<readonly Fate[]> => {
    if (items.length === 0) return []
    let mine: Open
    try {
      mine = await ready(items)
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
      void write(mine, batch)
      if (!batch.over) void watch(batch, done.signal)
    })
  }

  /** Pipelined: nothing waits for a confirm before the next goes out, only for room in the buffer. */
  const write = async (mine: Open, batch: Batch): Promise<void> => {
    const { channel } = mine
    for (let i = 0; i < batch.items.length; i++) {
      if (mine.full) await mine.full.promise
      if (batch.over) return
      const item = batch.items[i]!
      const confirmed = (error: Error | null) => {
        if (error) return settle(batch, i, refused(mine, error))
        if (!batch.unroutable.has(i)) return settle(batch, i, 'kept')
        if (item.tier === undefined) return settle(batch, i, 'unroutable')
        mine.tiers.delete(item.tier) // someone deleted it: whoever comes next declares it again
        settle(batch, i, unavailable(place, `the queue '${tierName(item.tier)}' was not there`))
      }
      try {
        if (!channel.publish(throughOf(item), item.key, item.body, item.options, confirmed))
          mine.full ??= Promise.withResolvers()
      } catch (error) {
        settle(batch, i, refused(mine, error as Error))
      }
    }
  }

  /** The broker has `PATIENCE` for each step forward, not for the whole of a large batch. */
  const watch = async (batch: Batch, signal: AbortSignal): Promise<void> => {
    do {
      batch.moved = false
      await clock.sleep(PATIENCE, signal)
    } while (batch.moved && !batch.over)
    if (batch.over) return
    const blocked = link.blocked()
    const error = blocked
      ? unavailable(place, `it takes no messages at the moment (${blocked})`)
      : unavailable(place, `no confirm within ${PATIENCE} ms`)
    for (let i = 0; i < batch.items.length; i++) batch.fates[i] ??= error
    batch.end()
  }

  const refused = (mine: Open, error: Error): Error => {
    if (error instanceof RangeError || error instanceof TypeError) return error // could not be encoded
    return unavailable(place, 'a message was not confirmed', mine.reason ?? error)
  }

  return {
    send,
    close: () => {
      closed = true // its channel goes with the connection
    },
  }
}

const settle = (batch: Batch, i: number, fate: Fate): void => {
  if (batch.over) return
  batch.fates[i] = fate
  batch.moved = true
  if (--batch.left === 0) batch.end()
}

/**
 * A returned message is confirmed too, and comes back without a number. Whatever is on its way with the same
 * address and id is taken for it: at worst one that was kept is sent again.
 */
const markReturned = (batches: ReadonlySet<Batch>, { fields, properties }: Message): void => {
  const returned = sameness(fields.exchange, fields.routingKey, properties.messageId)
  for (const batch of batches) {
    batch.index ??= indexOf(batch.items)
    for (const i of batch.index.get(returned) ?? []) batch.unroutable.add(i)
  }
}

const indexOf = (items: readonly Outgoing[]): Map<string, number[]> => {
  const index = new Map<string, number[]>()
  items.forEach((item, i) => {
    const name = sameness(throughOf(item), item.key, item.options.messageId)
    const there = index.get(name)
    if (there) there.push(i)
    else index.set(name, [i])
  })
  return index
}

const sameness = (exchange: string, key: string, id: string | undefined): string =>
  `${exchange}\n${key}\n${id ?? ''}`

const throughOf = ({ exchange, tier }: Outgoing): string => (tier === undefined ? exchange : tierName(tier))
