import type { Board } from '../contracts/board.ts'
import type { Tools } from '../contracts/tools.ts'
import { FORCES, type GuardReport, guardEntry, PAUSES, readForce, readOrder } from '../core/orders.ts'
import type { Instant } from '../core/time.ts'
import type { Guards } from './guards.ts'

/**
 * What operators have ordered, heard from the board once a second: services that pause, breakers that are forced. And
 * the other way: how this process's breakers stand, for whoever asks.
 */
export interface Orders {
  isPaused(service: string): boolean
  /** Until the signal aborts. Trouble with the board is told and changes nothing. */
  hear(signal: AbortSignal): Promise<void>
}

const LOOK = 1000
/** A report is renewed well before it runs out; one that isn't is of a process that is gone. */
const REPORT_LASTS = 30_000
const RENEWED_EVERY = 10_000

export const createOrders = (
  board: Board,
  guards: Guards,
  { clock, dice, journal }: Tools,
  changed: (service: string) => void,
): Orders => {
  const process = dice.uuid()
  const reported = new Map<string, { readonly state: string; readonly at: Instant }>()
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

  const report = async (): Promise<void> => {
    const now = clock.now()
    for (const { name, state, counts } of guards.all()) {
      const before = reported.get(name)
      const news = before === undefined || before.state !== state.is
      if (!news && now - before.at < RENEWED_EVERY) continue
      const told: GuardReport = {
        name,
        process,
        state: state.is,
        since: now,
        calls: counts.calls,
        failures: counts.failures,
        rejections: counts.rejections,
      }
      await board.post(guardEntry(name, process), { ...told }, REPORT_LASTS)
      reported.set(name, { state: state.is, at: now })
    }
  }

  return {
    isPaused: (service) => paused.has(service),
    hear: async (signal) => {
      let quiet = true
      while (!signal.aborted) {
        try {
          await obey()
          await report()
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
    },
  }
}
