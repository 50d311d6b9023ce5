import type { Board } from '../contracts/board.ts'
import {
  FORCES,
  forceEntry,
  GUARDS,
  type GuardReport,
  ORDER_LASTS,
  type Order,
  PAUSES,
  pauseEntry,
  readForce,
  readGuard,
  readOrder,
} from '../core/orders.ts'
import type { Instant, Millis } from '../core/time.ts'

/** An operator's hand on running services. Every process that shares the store hears of it within a second or two. */
export interface Hand {
  /** Nothing more is pulled; what is under way ends. */
  pause(service: string, order?: Ordering): Promise<void>
  resume(service: string): Promise<void>
  paused(): Promise<readonly (Order & { readonly service: string; readonly until: Instant })[]>
  /** `open` stops all calls, `closed` lets all through, whatever happens; `release` lets the breaker go by itself again. */
  breaker(name: string, to: 'open' | 'closed' | 'release', order?: Ordering): Promise<void>
  breakers(): Promise<readonly BreakerLine[]>
}

export interface Ordering {
  readonly by?: string
  /** How long it holds; a day unless told. */
  readonly lasts?: Millis
}

/** One breaker in one process, and what was ordered for it. */
export interface BreakerLine {
  readonly name: string
  /** Absent: it was ordered, and no process has reported such a breaker. */
  readonly report?: GuardReport
  readonly forced?: { readonly to: 'open' | 'closed'; readonly by: string; readonly until: Instant }
}

/** An entry whose time is over is as good as absent. */
const AT_ONCE = 1

export const createHand = (board: Board, now: () => Instant): Hand => ({
  pause: async (service, { by = 'somebody', lasts = ORDER_LASTS } = {}) => {
    await board.post(pauseEntry(service), { by, at: now() }, lasts)
  },
  resume: async (service) => {
    await board.post(pauseEntry(service), null, AT_ONCE)
  },
  paused: async () =>
    (await board.read(PAUSES)).flatMap(({ entry, value, until }) => {
      const order = readOrder(value)
      return order ? [{ service: entry.slice(PAUSES.length), ...order, until }] : []
    }),
  breaker: async (name, to, { by = 'somebody', lasts = ORDER_LASTS } = {}) => {
    if (to === 'release') await board.post(forceEntry(name), null, AT_ONCE)
    else await board.post(forceEntry(name), { to, by, at: now() }, lasts)
  },
  breakers: async () => {
    const forces = new Map(
      (await board.read(FORCES)).flatMap(({ entry, value, until }) => {
        const force = readForce(value)
        return force ? [[entry.slice(FORCES.length), { to: force.to, by: force.by, until }] as const] : []
      }),
    )
    const reports = (await board.read(GUARDS)).flatMap(({ value }) => readGuard(value) ?? [])
    const lines: BreakerLine[] = reports.map((report) => {
      const forced = forces.get(report.name)
      return { name: report.name, report, ...(forced && { forced }) }
    })
    const known = new Set(reports.map(({ name }) => name))
    const unheard = [...forces].filter(([name]) => !known.has(name))
    return [...lines, ...unheard.map(([name, forced]) => ({ name, forced }))].sort((a, b) =>
      a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
    )
  },
})
