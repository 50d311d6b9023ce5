import type { About } from '../../contracts/journal.ts'
import type { Tools } from '../../contracts/tools.ts'
import type { Delivery, Inlet, Settled, Settlement } from '../../contracts/transport.ts'
import { ReprieveError } from '../../core/error.ts'
import { isOurs } from '../../core/letter.ts'
import { type Instant, span } from '../../core/time.ts'
import type { Message } from './client.ts'
import type { Home } from './copies.ts'
import type { Counts } from './counts.ts'
import { readFound } from './found.ts'
import type { Link } from './link.ts'
import type { Outlet } from './outlet.ts'
import { backoff, parting } from './patience.ts'
import { type From, readMessage } from './read.ts'
import { beginSession, type Handed, isUnanswered, type Session } from './session.ts'
import { type Desk, settleOn } from './settle.ts'
import { type Declare, declareOn, waitingIn } from './topology.ts'
import { freshTwins } from './twins.ts'
import { isUnavailable } from './unreachable.ts'

export interface Door extends Omit<From, 'mint'>, Home {
  readonly window: number
  /** One active consumer at a time, for the sake of order. */
  readonly alone?: boolean
  readonly declare: Declare
  /** A destination: what lies there may be written by anyone. */
  readonly collects?: boolean
}

export interface Links {
  /** By all inlets. */
  readonly shared: Link
  /** One more, for whoever asks. */
  readonly apart: () => Link
}

/** What was just read becomes what is handed over: it is nobody else's yet. */
type Taken = { -readonly [Name in keyof Handed]: Handed[Name] }

const collected = (message: Message, from: From, now: Instant): Delivery => {
  const delivery = readMessage(message, from, now)
  if (isOurs(delivery.parcel.event)) return delivery
  try {
    return { ...delivery, found: readFound(message) }
  } catch (error) {
    // what can't be understood must not hold up the others: it is kept with what was read
    return { broken: `its headers can't be read: ${(error as Error).message}`, ...delivery }
  }
}

/** A broker that restarts must not be waited for much longer than it takes; to ask in vain costs nothing. */
const LONGEST_BACKOFF = 1500
/** What somebody has to mend first: it is told each time. */
const LONGEST_REFUSED = 5000
/** How often all that a subscription needs is declared again: nobody tells of an exchange or a binding that is gone. */
const LOOK_AFTER = 30_000
/** The most that the protocol's prefetch can say. */
const LARGEST_WINDOW = 65_535

export const openInlet = async (
  door: Door,
  { shared, apart }: Links,
  outlet: Outlet,
  tools: Tools,
  counts: Counts,
): Promise<Inlet> => {
  const { clock, dice, journal } = tools
  const { queue, alone = false, collects = false } = door
  const where = `rabbitmq inlet ${queue}`
  const from = { ...door, mint: dice.uuid }
  const { place } = shared
  let link = shared
  const stop = new AbortController()
  const waiters: (() => void)[] = []
  /** Settlements under way: closing waits for them. */
  const underWay = new Set<Promise<unknown>>()
  let mending: Promise<void> | undefined
  const mend = (): Promise<void> => {
    mending ??= declare()
      .catch((error: Error) => {
        if (!stop.signal.aborted) tell(error)
      })
      .finally(() => {
        mending = undefined
      })
    return mending
  }
  const tell = (error: Error, more: { retryIn?: number; about?: About } = {}): void =>
    journal({ is: 'trouble', at: clock.now(), where, error, ...more })

  const tellEnd = (since: Instant): void => {
    const at = clock.now()
    journal({
      is: 'notice',
      at,
      text: `${where} goes on, after ${span(Math.ceil((at - since) / 100) * 100)}`,
    })
  }

  const desk: Desk = {
    home: door,
    outlet,
    clock,
    place,
    mend,
    tell: (error, about) => tell(error, { about }),
  }

  const declare = async (): Promise<void> => declareOn(await link.connection(), clock, place, door.declare)

  const wake = (): void => {
    for (const waiter of waiters) waiter()
    waiters.length = 0
  }

  const begin = async (): Promise<Session> => {
    await declare()
    const connection = await link.connection()
    const window = Math.max(1, Math.min(door.window, LARGEST_WINDOW))
    return beginSession(connection, { queue, alone, window, place, collects, told: wake }, clock, counts)
  }

  let session = await begin()
  /** No session hands a message over twice: what is alike in all it says is another one, though it was handed over before. */
  let twins = freshTwins()

  /** A lost channel or connection does not end the inlet: it begins again until it is closed. */
  const keepGoing = async (): Promise<void> => {
    let since: Instant | undefined
    for (let failures = 0, trouble = await session.over; !stop.signal.aborted; failures++) {
      since ??= clock.now()
      const longest = isUnavailable(trouble) ? LONGEST_BACKOFF : LONGEST_REFUSED
      const retryIn = Math.round(backoff(failures, longest, dice))
      tell(trouble, { retryIn })
      await clock.sleep(retryIn, stop.signal)
      if (stop.signal.aborted) return
      try {
        session = await begin()
        twins = freshTwins()
        if (stop.signal.aborted) return await session.close()
        wake() // some may have arrived before anybody knew of the new session
        tellEnd(since)
        since = undefined
        failures = -1
        trouble = await session.over
      } catch (error) {
        trouble = error as Error
        if (isUnanswered(error) && !stop.signal.aborted) await goApart()
      }
    }
  }

  /**
   * A channel that waits for such a queue is ended by the broker after a minute, and its connection with it, with all that others
   * have there. So this one tries on by itself.
   */
  const goApart = async (): Promise<void> => {
    const old = link
    link = apart()
    if (old !== shared) await old.close()
  }
  const going = keepGoing()

  /**
   * Without the way home waits stay in their tiers; where someone else has made it anew it does not know our queue, and they go to
   * the homeless, one and all, and nobody hears of it.
   */
  const lookAfter = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await clock.sleep(LOOK_AFTER, stop.signal)
      if (!stop.signal.aborted && !session.ended()) await mend()
    }
  }
  if (!collects) void lookAfter()

  const heard = new WeakSet<AbortSignal>()
  /**
   * Until a message arrives, or nobody wants to wait any more. One listener on each signal, however often it is waited: a
   * listener that is removed still points at the next one, and each kept what its wait had brought from being collected.
   * Measured, together with what `arrived.ts` tells of: a third of the processor time of a busy consumer.
   */
  const arrival = (signal: AbortSignal): Promise<void> => {
    if (!heard.has(signal)) {
      heard.add(signal)
      signal.addEventListener('abort', wake, { once: true })
    }
    return new Promise((resolve) => waiters.push(resolve))
  }

  const take = (max: number): Delivery[] => {
    const now = clock.now()
    const deliveries: Delivery[] = []
    const early: Delivery[] = []
    if (session.ended()) return deliveries
    for (const message of session.waiting.splice(0, max)) {
      const delivery = (collects ? collected(message, from, now) : readMessage(message, from, now)) as Taken
      delivery.session = session
      delivery.tag = message.fields.deliveryTag
      if (delivery.parcel.due > now) {
        early.push(delivery)
        continue
      }
      const { found } = delivery
      if (found?.alike && twins.seen(found.id)) delivery.found = { ...found, another: true }
      deliveries.push(delivery)
    }
    if (early.length > 0) sendBack(early).catch(tell)
    return deliveries
  }

  /**
   * Home before its time: a clock differs, or the wait is longer than the longest tier. It waits again. Where that can't be had
   * it is ours until then, and each try is of the same copy: given back at once, it would be copied anew each time it came.
   */
  const sendBack = async (early: readonly Delivery[]): Promise<void> => {
    let left = early.map((delivery): Settlement => ({ delivery, do: 'later', parcel: delivery.parcel }))
    for (let failures = 3; !stop.signal.aborted; failures++) {
      const answers = await settle(left)
      const trouble = answers.find((answer) => answer instanceof Error)
      if (!trouble) return
      const retryIn = Math.round(backoff(failures, LONGEST_REFUSED, dice))
      tell(trouble, { retryIn })
      await clock.sleep(retryIn, stop.signal)
      const now = clock.now()
      left = left
        .filter((_, i) => answers[i] instanceof Error)
        .map((each) => (each.delivery.parcel.due > now ? each : { delivery: each.delivery, do: 'give back' }))
    }
  }

  const settle = (batch: readonly Settlement[]): Promise<readonly Settled[]> => {
    const work = settleOn(session, batch, desk)
    underWay.add(work)
    return work.finally(() => underWay.delete(work))
  }

  return {
    prompt: true,
    receive: async (max, signal) => {
      if (stop.signal.aborted) {
        throw new ReprieveError('closed', `the inlet of '${queue}' is closed`)
      }
      while (!signal.aborted && !stop.signal.aborted) {
        const deliveries = take(max)
        if (deliveries.length > 0) return deliveries
        // what was taken may all have come too early, and more be there
        if (session.waiting.length === 0 || session.ended()) await arrival(signal)
      }
      return []
    },
    settle,
    extend: async () => {}, // there are no leases
    lag: async () => {
      const connection = await link.connection()
      const waiting = await waitingIn(queue, connection, clock, place)
      return { waiting: waiting + session.waiting.length }
    },
    close: async () => {
      if (stop.signal.aborted) return going
      stop.abort()
      wake()
      while (underWay.size > 0) await Promise.allSettled(underWay)
      await session.close()
      await parting(clock, going)
      if (link !== shared) await link.close()
    },
  }
}
