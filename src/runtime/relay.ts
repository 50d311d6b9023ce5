import type { Tools } from '../contracts/tools.ts'
import type { Transport } from '../contracts/transport.ts'
import type { Outbox, Relayed } from '../contracts/tx.ts'
import { ReprieveError } from '../core/error.ts'
import type { Event } from '../core/event.ts'
import type { Instant } from '../core/time.ts'

/** Publishes what was committed to an outbox, in this process, until it is stopped. */
export interface Relay {
  /** Something may wait there now. */
  ring(): void
  stop(): Promise<void>
}

export interface RelayOptions {
  readonly outbox: Outbox
  readonly transport: Transport
  readonly topic: (type: string) => string
  readonly tools: Tools
}

const MOST = 100
/** How often it looks for what others left there. */
const POLL = 1000
const LONGEST_PAUSE = 5000
/** What would be refused again at once, as where nobody is subscribed, waits so long, and others pass it. */
const REFUSED = 15_000
const TIDY = 60_000

export const startRelay = ({ outbox, transport, topic, tools }: RelayOptions): Relay => {
  const { clock, journal } = tools
  const stopping = new AbortController()
  let nap = new AbortController()
  let rung = false
  let tidied = clock.now()

  const trouble = (error: unknown, retryIn: number): void =>
    journal({ at: clock.now(), is: 'trouble', where: 'relaying the outbox', error: error as Error, retryIn })

  /** Event by event where a whole batch was refused, so that one that nobody wants keeps back no other. */
  const publish = async (events: readonly Event[]): Promise<Relayed> => {
    const answers: (true | Instant)[] = events.map(() => clock.now())
    const groups = Map.groupBy(
      events.map((event, at) => ({ event, at })),
      ({ event }) => topic(event.type),
    )
    for (const [name, group] of groups) {
      const all = group.map(({ event }) => event)
      try {
        await transport.publish(name, all)
        for (const { at } of group) answers[at] = true
      } catch (error) {
        if (!isRefusal(error)) throw error
        for (const { event, at } of group) answers[at] = await publishOne(name, event)
      }
      const count = group.filter(({ at }) => answers[at] === true).length
      if (count > 0) journal({ at: clock.now(), is: 'published', topic: name, count })
    }
    return answers
  }

  const publishOne = async (name: string, event: Event): Promise<true | Instant> => {
    try {
      await transport.publish(name, [event])
      return true
    } catch (error) {
      if (!isRefusal(error)) throw error
      trouble(error, REFUSED)
      return clock.now() + REFUSED
    }
  }

  const work = async (): Promise<void> => {
    let pause = 100
    while (!stopping.signal.aborted) {
      try {
        rung = false
        const count = await outbox.relay(MOST, clock.now(), publish)
        pause = 100
        if (count > 0) continue
        if (clock.now() - tidied >= TIDY) {
          tidied = clock.now()
          await outbox.tidy?.(tidied)
        }
        nap = new AbortController()
        if (!rung && !stopping.signal.aborted) await clock.sleep(POLL, nap.signal)
      } catch (error) {
        trouble(error, pause)
        await clock.sleep(pause, stopping.signal)
        pause = Math.min(pause * 2, LONGEST_PAUSE)
      }
    }
  }

  const working = work()
  return {
    ring: () => {
      rung = true
      nap.abort()
    },
    stop: async () => {
      stopping.abort()
      nap.abort()
      await working
    },
  }
}

/** Not now or later: the event itself, or its topic, is not as it should be. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ReprieveError && ['unheard', 'bad_event', 'topology_differs'].includes(error.code)
