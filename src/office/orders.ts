import type { Post } from '../contracts/audit.ts'
import type { Board } from '../contracts/board.ts'
import { type ActName, checkName } from '../core/acts.ts'
import type { Details } from '../core/audit.ts'
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
  SERVICES,
} from '../core/orders.ts'
import type { Shared } from '../core/shared-breaker.ts'
import { readShared, SHARED, sharedEntry } from '../core/shared-entries.ts'
import type { Instant, Millis } from '../core/time.ts'
import { type Enact, enactUnwritten } from './enact.ts'

/** An operator's hand on running services. Every process that shares the store hears of it within a second or two. */
export interface Hand {
  /** Nothing more is pulled; what is under way ends. */
  pause(service: string, order?: Ordering): Promise<void>
  resume(service: string, order?: Ordering): Promise<void>
  paused(): Promise<readonly (Order & { readonly service: string; readonly until: Instant })[]>
  /** `open` stops all calls, `closed` lets all through, whatever happens; `release` lets the breaker go by itself again. */
  breaker(name: string, to: 'open' | 'closed' | 'release', order?: Ordering): Promise<void>
  breakers(): Promise<readonly BreakerLine[]>
  /** Services that some process runs now. */
  running(): Promise<readonly string[]>
}

export interface Ordering {
  readonly by?: string
  readonly reason?: string
  /** How long it holds; a day unless told. */
  readonly lasts?: Millis
}

/** One breaker in one process, how it stands over all, and what was ordered for it. */
export interface BreakerLine {
  readonly name: string
  /** Absent: it never opened in any process, or that is long ago. */
  readonly whole?: {
    readonly state: Shared['is']
    readonly since: Instant
    /** While it is open: from when on a call may try it. */
    readonly until?: Instant
    /** Processes that opened by their own evidence, oldest first. */
    readonly tripped: readonly { readonly process: string; readonly at: Instant }[]
  }
  /** Absent: it was ordered, and no process has reported such a breaker. */
  readonly report?: GuardReport
  readonly forced?: { readonly to: 'open' | 'closed'; readonly by: string; readonly until: Instant }
}

/** An entry whose time is over is as good as absent. */
const AT_ONCE = 1

export interface HandOptions {
  /** Whose hand it is, where an order does not say. */
  readonly as?: string
  /** Writes orders with their entries in the audit. */
  readonly enact?: Enact
}

export const createHand = (
  board: Board,
  now: () => Instant,
  { as = 'somebody', enact = enactUnwritten(board) }: HandOptions = {},
): Hand => {
  const whoIs = ({ by }: Ordering): string => (by === undefined ? as : checkName(by))
  const order = (act: ActName, target: string, by: Ordering, details: Details, posts: readonly Post[]) => {
    const why = by.reason === undefined ? {} : { reason: by.reason }
    return enact({ at: now(), who: whoIs(by), act, target, count: 1, ...why, details }, posts)
  }
  const gone = (entry: string): Post => ({ entry, value: null, ttl: AT_ONCE })

  return {
    pause: async (service, by = {}) => {
      const { lasts: ttl = ORDER_LASTS } = by
      const value = { by: whoIs(by), at: now() }
      await order('pause', service, by, { lasts: ttl }, [{ entry: pauseEntry(service), value, ttl }])
    },
    resume: async (service, by = {}) => order('resume', service, by, {}, [gone(pauseEntry(service))]),
    paused: async () =>
      (await board.read(PAUSES)).flatMap(({ entry, value, until }) => {
        const order = readOrder(value)
        return order ? [{ service: entry.slice(PAUSES.length), ...order, until }] : []
      }),
    breaker: async (name, to, by = {}) => {
      // who takes it in hand, or lets go of it, knows better than what was seen before
      const forget = gone(sharedEntry(name))
      if (to === 'release') return order('breaker release', name, by, {}, [gone(forceEntry(name)), forget])
      const { lasts: ttl = ORDER_LASTS } = by
      const force = { entry: forceEntry(name), value: { to, by: whoIs(by), at: now() }, ttl }
      return order(to === 'open' ? 'breaker open' : 'breaker close', name, by, { lasts: ttl }, [
        force,
        forget,
      ])
    },
    breakers: async () => {
      const forces = new Map(
        (await board.read(FORCES)).flatMap(({ entry, value, until }) => {
          const force = readForce(value)
          return force ? [[entry.slice(FORCES.length), { to: force.to, by: force.by, until }] as const] : []
        }),
      )
      const reports = (await board.read(GUARDS)).flatMap(({ value }) => readGuard(value) ?? [])
      const wholes = new Map((await board.read(SHARED)).map(({ entry, value }) => [entry, readShared(value)]))
      const lines: BreakerLine[] = reports.map((report) => {
        const forced = forces.get(report.name)
        const shared = wholes.get(sharedEntry(report.name))
        return {
          name: report.name,
          ...(shared && { whole: wholeOf(shared, now()) }),
          report,
          ...(forced && { forced }),
        }
      })
      const known = new Set(reports.map(({ name }) => name))
      const unheard = [...forces].filter(([name]) => !known.has(name))
      return [...lines, ...unheard.map(([name, forced]) => ({ name, forced }))].sort((a, b) =>
        a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
      )
    },
    running: async () => {
      const names = (await board.read(SERVICES)).map(({ entry }) => entry.slice(entry.lastIndexOf('/') + 1))
      return [...new Set(names)].sort()
    },
  }
}

const wholeOf = (shared: Shared, now: Instant): NonNullable<BreakerLine['whole']> => ({
  state: shared.is,
  since: shared.since,
  ...(shared.is === 'open' && { until: shared.until }),
  tripped: shared.trips.filter(({ until }) => until > now).map(({ process, at }) => ({ process, at })),
})
