import type { Clock, Dice } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import { within } from '../../core/within.ts'
import { type Closable, closeQuietly } from './client.ts'
import { unavailable } from './unreachable.ts'

/** How long the broker may take to answer anything: connect, declare, confirm. */
export const PATIENCE: Millis = 10_000

/**
 * What may be the matter with a quorum queue that takes and gives nothing. One without a majority waits for its nodes; one that its
 * node does not remember, because that was killed seconds after it had been declared, has no leader for ever.
 */
export const LEADERLESS =
  "look whether the queue has a leader ('rabbitmq-queues quorum_status') and start the nodes it lacks; where all of them run and there is none, delete the queue: it can't be mended, and is declared again by whoever consumes it"

/** Given as reason of an abort: without one a DOMException with its stack is made each time. */
export const OVER = 'over'

/** Like `within`, for what must be closed where it comes too late for anybody to have it. */
export const openWithin = async <T extends Opened>(
  clock: Clock,
  work: Promise<T>,
  late: () => Error,
): Promise<T> => {
  let wanted = true
  work.then(
    (opened) => {
      opened.on('error', () => {}) // without a listener an error there would end the process
      if (!wanted) void closeQuietly(opened)
    },
    () => {},
  )
  try {
    return await within(clock, PATIENCE, work, late)
  } catch (error) {
    wanted = false
    throw error
  }
}

/** A channel that is kept. However its opening ends, whoever wanted it hears of a broker that is not there. */
export const openChannel = async <T extends Opened>(
  clock: Clock,
  place: string,
  opening: Promise<T>,
): Promise<T> => {
  try {
    return await openWithin(clock, opening, () => new Error(`no answer within ${PATIENCE} ms`))
  } catch (error) {
    throw unavailable(place, 'a channel could not be opened', error)
  }
}

interface Opened extends Closable {
  on(event: 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** Waits for the work to end in whatever way, but no longer than for a good-bye. */
export const parting = async (clock: Clock, work: Promise<unknown>): Promise<void> => {
  const done = new AbortController()
  const ended = work.then(
    () => done.abort(OVER),
    () => done.abort(OVER),
  )
  await Promise.race([ended, clock.sleep(PATIENCE / 5, done.signal)])
}

const SHORTEST: Millis = 100

/** The wait before the next try to reconnect: doubling, with half of it left to chance. */
export const backoff = (failures: number, longest: Millis, dice: Dice): Millis =>
  Math.min(longest, SHORTEST * 2 ** Math.min(failures, 20)) * (0.5 + dice.next() / 2)
