import type { Board } from '../contracts/board.ts'
import type { Tools } from '../contracts/tools.ts'
import { FORCES, MENDED, type Mended, PAUSES, readForce, readMended, readOrder } from '../core/orders.ts'
import { atMost } from './at-most.ts'
import type { Guards } from './guards.ts'
import type { Sharing } from './sharing.ts'

/**
 * What operators have ordered, heard from the board once a second: services that pause, breakers that are forced, handlers that
 * were mended. And
 * what processes share, in both directions.
 */
export interface Orders {
  isPaused(service: string): boolean
  /** Until the signal aborts. Trouble with the board is told and changes nothing. */
  hear(signal: AbortSignal): Promise<void>
}

const LOOK = 1000

export const createOrders = (
  board: Board,
  guards: Guards,
  sharing: Pick<Sharing, 'sync' | 'leave'>,
  { clock, journal }: Tools,
  changed: (service: string) => void,
  mended: (what: Mended) => void,
): Orders => {
  /** What was heard of already, by entry: it is told once. */
  let heard: ReadonlyMap<string, number> = new Map()
  let paused: ReadonlySet<string> = new Set()

  const obey = async (): Promise<void> => {
    const pauses = await board.read(PAUSES)
    const next = new Set(
      pauses.flatMap(({ entry, value }) => (readOrder(value) ? [entry.slice(PAUSES.length)] : [])),
    )
    const before = paused
    paused = next
    for (const service of next.symmetricDifference(before)) {
      journal({ at: clock.now(), is: next.has(service) ? 'paused' : 'resumed', service })
      changed(service)
    }
    const mends = await board.read(MENDED)
    for (const { entry, value, version } of mends) {
      const what = heard.get(entry) === version ? undefined : readMended(value)
      if (what) mended(what)
    }
    heard = new Map(mends.map(({ entry, version }) => [entry, version]))
    const forces = await board.read(FORCES)
    guards.obey(
      new Map(
        forces.flatMap(({ entry, value }) => {
          const force = readForce(value)
          return force ? [[entry.slice(FORCES.length), force.to] as const] : []
        }),
      ),
    )
  }

  return {
    isPaused: (service) => paused.has(service),
    hear: async (signal) => {
      let quiet = true
      while (!signal.aborted) {
        try {
          await orAborted(obey().then(sharing.sync), signal)
          quiet = true
        } catch (error) {
          // once, and not each second
          if (quiet) {
            journal({
              at: clock.now(),
              is: 'trouble',
              where: 'the board',
              error: error as Error,
              retryIn: LOOK,
            })
          }
          quiet = false
        }
        await clock.sleep(LOOK, signal)
      }
      if (quiet) await atMost(clock, LOOK, sharing.leave())
    },
  }
}

/** A board that never answers must not keep the process from leaving. */
const orAborted = (work: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
    work.then(end, (error: Error) => {
      signal.removeEventListener('abort', end)
      reject(error)
    })
  })
