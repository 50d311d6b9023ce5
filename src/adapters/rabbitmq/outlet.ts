import type { Tools } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import { type Batch, type Fate, giveUp, hearOf, settleFate, throughOf } from './batch.ts'
import { type Asked, createChannelOut, freshShared, type Open, type Ready } from './channel-out.ts'
import type { Counts } from './counts.ts'
import { createHold } from './hold.ts'
import type { Link } from './link.ts'
import { tierName } from './names.ts'
import { LEADERLESS, OVER, PATIENCE } from './patience.ts'
import { TooLarge } from './too-large.ts'
import { unavailable } from './unreachable.ts'
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

export const openOutlet = (
  link: Link,
  exchange: string,
  { clock }: Pick<Tools, 'clock'>,
  counts: Counts,
  shared = freshShared(),
): Outlet => {
  const { place } = link
  const out = createChannelOut(link, exchange, clock, shared)

  const send = async (items: readonly Outgoing[], first?: Asked): Promise<readonly Fate[]> => {
    if (items.length === 0) return []
    let mine: Open
    let without: Ready['refused']
    try {
      ;({ mine, refused: without } = await out.ready(items, first))
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
      if (item.body.length > mine.known.most) {
        settleFate(batch, i, refused(mine, item))
        continue
      }
      try {
        if (!channel.publish(throughOf(item), item.key, item.body, item.options, confirmed))
          mine.full ??= createHold()
      } catch (error) {
        if (!isUnwritable(error)) out.leave(mine) // it was closed before anybody listened
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
      out.heldUp() ?? unavailable(place, `no confirm within ${PATIENCE} ms`, undefined, { fix: LEADERLESS })
    giveUp(batch, mine.batches, shared.late, error)
  }

  const refused = (mine: Open, { body }: Outgoing, error?: Error): Error => {
    const { most } = mine.known
    if (body.length > most) return new TooLarge(place, body.length, most)
    if (isUnwritable(error)) {
      return new ReprieveError('bad_event', `RabbitMQ's client can't write it: ${error.message}`, {
        fix: 'let headers and attributes be fewer or smaller: they have 64 KB together',
        cause: error,
      })
    }
    return unavailable(place, 'a message was not confirmed', mine.reason ?? error)
  }

  return { send, foresee: out.foresee, close: out.close }
}

const isUnwritable = (error: unknown): error is Error =>
  error instanceof RangeError || error instanceof TypeError
