import type { Board } from '../contracts/board.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Json } from '../core/json.ts'
import type { Instant, Millis } from '../core/time.ts'
import { type Waiting, waitingEntry } from '../core/waiting.ts'

/** Looks now and then how much waits for the services of this process, where a rule wants to know. */
export interface Lagging {
  /** Called often. Looks when it is time, and nobody waits for it: a broker may be slow to say. */
  report(board: Board, process: string): void
  /** Looks no more. Resolves when a look that is under way has ended; what goes wrong with it is told no more. */
  stop(): Promise<void>
}

export interface Lagged {
  readonly name: string
  /** By the place where it waits. */
  lag(): Promise<Waiting[string]>
}

const LOOK_EVERY: Millis = 60_000
/** What died does not lag behind for ever. */
const LASTS: Millis = 3 * LOOK_EVERY

export const createLagging = (
  { clock, journal }: Pick<Tools, 'clock' | 'journal'>,
  services: () => readonly Lagged[],
): Lagging => {
  let looked: Instant | undefined
  let looking: Promise<void> | undefined
  let told = '{}'
  let stopped = false

  const look = async (board: Board, process: string): Promise<void> => {
    const waiting: Record<string, Waiting[string]> = {}
    for (const service of services()) waiting[service.name] = await service.lag()
    if (stopped) return
    const text = JSON.stringify(waiting)
    const none = Object.values(waiting).every((places) =>
      Object.values(places).every(({ waiting: count }) => count === 0),
    )
    // where nothing waits that is said once
    if (none && text === told) return
    await board.post(waitingEntry(process), waiting as unknown as Json, LASTS)
    told = none ? text : ''
  }

  return {
    report: (board, process) => {
      const now = clock.now()
      looked ??= now
      if (stopped || looking || Math.abs(now - looked) < LOOK_EVERY || services().length === 0) return
      looked = now
      looking = look(board, process)
        .catch((error: Error) => {
          if (!stopped) journal({ at: clock.now(), is: 'trouble', where: 'looking how much waits', error })
        })
        .finally(() => {
          looking = undefined
        })
    },
    stop: async () => {
      stopped = true
      await looking
    },
  }
}
