import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import { bell } from './bell.ts'
import type { Consumer } from './client.ts'
import type { Host } from './host.ts'

/** How a member comes into its group, and again where its topics have changed: one join follows the other. */
export interface Joining {
  join(): void
  /** Makes what is missing of its topics, and joins again where it has to go on without one, or no longer has to. */
  mend(): Promise<void>
  /** The client is about to ask, for us or by itself. */
  asks(): void
}

export interface JoiningOptions {
  readonly consumer: Consumer
  readonly host: Host
  readonly clock: Clock
  /** Aborts when it has left. */
  readonly left: AbortSignal
  readonly trouble: (doing: string, error: unknown, retryIn?: Millis) => void
}

/** Where the client gave up and told nobody, it is asked again. */
const LONGEST_REJOIN: Millis = 15_000

export const joiningOf = ({ consumer, host, clock, left, trouble }: JoiningOptions): Joining => {
  const { topics } = consumer
  const rejoined = bell(clock)
  let joining = false
  let again = false
  /** We have asked the client to join; and it does so by itself, since a heartbeat was refused. */
  let asking = false
  let rejoining = false
  let mending: Promise<void> | undefined

  const untrack = () => {
    const wanted = new Set(host.topics())
    for (const topic of [...topics.keys()]) if (!wanted.has(topic)) topics.untrack(topic)
  }
  const follow = () => {
    untrack()
    for (const topic of host.topics()) if (!topics.has(topic)) topics.track(topic)
  }
  const join = async () => {
    again = true
    if (joining) return
    joining = true
    for (let wait = 250; again && !left.aborted; ) {
      again = false
      try {
        await host.ensure(wait > 250)
        // at once: for one that is gone it would ask for long
        untrack()
        // not so with a new one: it would take the answer for one about that too, and end the process
        if (rejoining) await rejoined.wait(LONGEST_REJOIN, left)
        rejoining = false
        follow()
        asking = true
        await consumer.joinGroup({}).finally(() => {
          asking = false
        })
        wait = 250
      } catch (error) {
        if (left.aborted) break
        trouble('joining', error, wait)
        await clock.sleep(wait, left)
        again = true
        wait = Math.min(2 * wait, 10_000)
      }
    }
    joining = false
  }
  const mend = async () => {
    await host.ensure(true)
    const wanted = host.topics()
    if (wanted.length !== topics.size || wanted.some((topic) => !topics.has(topic))) void join()
  }
  const ends = () => {
    rejoining = false
    rejoined.ring()
  }

  consumer.on('consumer:group:join', ends)
  consumer.on('consumer:rejoin' as 'consumer:group:rejoin', ends)
  consumer.on('error', (error: Error) => {
    ends()
    if (left.aborted) return
    trouble('joining again', error)
    void join()
  })

  return {
    join: () => void join(),
    mend: () => {
      mending ??= mend().finally(() => {
        mending = undefined
      })
      return mending
    },
    asks: () => {
      rejoining ||= !asking
    },
  }
}
