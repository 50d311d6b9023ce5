import type { Board, Entry } from '../contracts/board.ts'
import type { AlertFact } from '../contracts/journal.ts'
import type { Letters } from '../contracts/letters.ts'
import type { Tools } from '../contracts/tools.ts'
import type { Json } from '../core/json.ts'
import { NO_PACE, PACES, type Pace, type Paces, paceSince, readPaces, together } from '../core/pace.ts'
import { readShared, SHARED } from '../core/shared-entries.ts'
import { type Snapshot, TREND_MOST, type Trend, trendOf } from '../core/snapshot.ts'
import type { Instant, Millis } from '../core/time.ts'
import { readWaiting, WAITING, type Waits, waitingInAll } from '../core/waiting.ts'
import { emptyBook, type RuleBook } from '../rules/index.ts'
import { type Alerts, type KeptAlert, lookAtAlerts, NO_ALERTS } from './alerts.ts'
import { NOT_AT_AN_END } from './groups.ts'
import { type Every, WATCH_JOB } from './jobs.ts'
import { readingsOf } from './readings.ts'
import { keepSnapshot, snapshotsFrom, takeSnapshot } from './snapshots.ts'

/** Somebody looks now and then, so that nobody has to. */
export interface Watch {
  /** Looks at every figure that a rule is about; what is raised or ended by it is kept and told. */
  look(): Promise<void>
  /** How the letters stand now, kept for the history. */
  snapshot(): Promise<Snapshot>
  /** The newest snapshots in the order of time, and where the depth goes. */
  history(limit?: number): Promise<History>
  alerts(): Promise<AlertList>
}

export interface History {
  readonly snapshots: readonly Snapshot[]
  /** Absent: there are fewer than two. */
  readonly trend?: Trend
}

export interface AlertList {
  /** Those that are on now, the most severe first, and then the oldest. */
  readonly raised: readonly KeptAlert[]
  /** Those that ended, the newest first. */
  readonly ended: readonly KeptAlert[]
  /** When somebody looked last; absent: nobody ever did. */
  readonly lookedAt?: Instant
}

export interface WatchOptions {
  readonly letters: Letters
  /** Where snapshots and alerts are kept: of the letters' own store. */
  readonly board: Board
  /** Where processes tell how they fare. */
  readonly processes: Board
  readonly tools: Tools
  readonly book?: RuleBook
}

/** What one look leaves for the next. One entry, so that two that look at once don't both raise an alert. */
interface Kept extends Alerts {
  readonly at: Instant
  /** Letters that ever arrived, by service. */
  readonly arrived: Readonly<Record<string, number>>
  /** What processes had told. */
  readonly told: Readonly<Record<string, Paces>>
  /** What services did between looks, the newest last. */
  readonly paces: readonly { readonly at: Instant; readonly did: Paces }[]
  /** Breakers that are not closed, and since when they have not been: one that tries and opens again was never well. */
  readonly unwell: Readonly<Record<string, Instant>>
}

const ENTRY = 'office/alerts'
const KEPT: Millis = 90 * 24 * 60 * 60_000
/** Rates are of so long. */
const WINDOW: Millis = 5 * 60_000
const MINUTE: Millis = 60_000

export const createWatch = (options: WatchOptions): Watch => {
  const { letters, board, processes, tools, book = emptyBook } = options
  const { clock, journal } = tools

  const kept = async (): Promise<{ readonly entry?: Entry; readonly before?: Kept }> => {
    const entry = (await board.read(ENTRY)).find((each) => each.entry === ENTRY)
    return entry ? { entry, before: entry.value as unknown as Kept } : {}
  }

  const tell = (is: 'alert raised' | 'alert ended', alert: KeptAlert): void => {
    const { metric, of, figure, unit, over, limit, since, severity, action } = alert
    const fact: AlertFact = { metric, of, figure, unit, over, limit, since, severity, action }
    journal({ at: clock.now(), is, ...fact })
  }

  const look = async (): Promise<void> => {
    const { entry, before } = await kept()
    const now = clock.now()
    const [tallies, deaths, told, waiting, unwell] = await Promise.all([
      letters.groups.tallies(),
      letters.groups.deaths(),
      toldBy(processes),
      waitingBy(processes),
      unwellBreakers(processes, before?.unwell ?? {}),
    ])
    const live = tallies.filter(({ state }) => NOT_AT_AN_END.includes(state))
    const oldest = new Map<string, Instant>()
    for (const service of new Set(live.map((each) => each.service))) {
      const at = await letters.groups.oldest(NOT_AT_AN_END, service)
      if (at !== undefined) oldest.set(service, at)
    }
    const arrived = sums(deaths.map(({ service, letters }) => [service, letters]))
    const paces = [
      ...(before?.paces ?? []).filter(({ at }) => now - at < WINDOW),
      ...(before ? [{ at: now, did: didSince(before.told, told) }] : []),
    ]
    const seen = {
      ...{ now, live, oldest },
      inflow: inflowOf(before, arrived, now),
      paces: inAll(paces),
      waiting,
      unwell: new Map(Object.entries(unwell)),
    }
    const { alerts, raised, ended } = lookAtAlerts(before ?? NO_ALERTS, readingsOf(book, seen), now)
    const next: Kept = { ...alerts, at: now, arrived, told, paces, unwell }
    // somebody else looked meanwhile: what there was to tell is told by him
    if (!(await board.post(ENTRY, next as unknown as Json, KEPT, entry?.version ?? 0))) return
    for (const alert of raised) tell('alert raised', alert)
    for (const alert of ended) tell('alert ended', alert)
  }

  return {
    look,
    snapshot: async () => {
      const snapshot = await takeSnapshot(letters, book, clock.now())
      await keepSnapshot(board, snapshot)
      return snapshot
    },
    history: async (limit = TREND_MOST) => {
      const snapshots = await snapshotsFrom(board, limit, clock.now())
      const trend = trendOf(snapshots.map(({ depth }) => depth))
      return { snapshots, ...(trend && { trend }) }
    },
    alerts: async () => {
      const { before } = await kept()
      if (!before) return { raised: [], ended: [] }
      const raised = Object.values(before.watched).flatMap(({ alert }) => alert ?? [])
      return {
        raised: raised.sort(byUrgency),
        ended: before.ended.toReversed(),
        lookedAt: before.at,
      }
    },
  }
}

const URGENCY: Readonly<Record<KeptAlert['severity'], number>> = { critical: 0, warning: 1, info: 2 }

const byUrgency = (a: KeptAlert, b: KeptAlert): number =>
  URGENCY[a.severity] - URGENCY[b.severity] ||
  a.since - b.since ||
  (a.of + a.metric < b.of + b.metric ? -1 : 1)

const toldBy = async (board: Board): Promise<Readonly<Record<string, Paces>>> =>
  Object.fromEntries(
    (await board.read(PACES)).map(({ entry, value }) => [entry.slice(PACES.length), readPaces(value)]),
  )

const waitingBy = async (board: Board): Promise<ReadonlyMap<string, Waits>> =>
  waitingInAll((await board.read(WAITING)).map(({ value }) => readWaiting(value)))

const unwellBreakers = async (board: Board, before: Kept['unwell']): Promise<Kept['unwell']> =>
  Object.fromEntries(
    (await board.read(SHARED)).flatMap(({ entry, value }) => {
      const shared = readShared(value)
      const name = entry.slice(SHARED.length)
      return shared && shared.is !== 'closed' ? [[name, before[name] ?? shared.since] as const] : []
    }),
  )

const didSince = (before: Kept['told'], now: Kept['told']): Paces => {
  const all = Object.entries(now).flatMap(([process, services]) =>
    Object.entries(services).map(
      ([service, pace]) => [service, paceSince(before[process]?.[service], pace)] as const,
    ),
  )
  return Object.fromEntries(
    [...Map.groupBy(all, ([service]) => service)].map(([service, some]) => [
      service,
      together(some.map(([, pace]) => pace)),
    ]),
  )
}

const inAll = (paces: Kept['paces']): ReadonlyMap<string, Pace> => {
  const services = new Set(paces.flatMap(({ did }) => Object.keys(did)))
  return new Map(
    [...services].map((service) => [service, together(paces.map(({ did }) => did[service] ?? NO_PACE))]),
  )
}

/** A minute, whatever time was between two looks; unknown at the first, for it has nothing to compare with. */
const inflowOf = (
  before: Kept | undefined,
  arrived: Kept['arrived'],
  now: Instant,
): ReadonlyMap<string, number> => {
  if (!before || now <= before.at) return new Map()
  const minutes = Math.max(1, (now - before.at) / MINUTE)
  return new Map(
    Object.entries(arrived).map(([service, count]) => [
      service,
      Math.max(0, count - (before.arrived[service] ?? 0)) / minutes,
    ]),
  )
}

const sums = (pairs: readonly (readonly [string, number])[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...Map.groupBy(pairs, ([name]) => name)].map(([name, some]) => [
      name,
      some.reduce((all, [, count]) => all + count, 0),
    ]),
  )

const LOOK_EVERY: Millis = MINUTE
export const SNAPSHOT_EVERY: Millis = 5 * MINUTE

/** One job for both, run by one of the processes that share the board. */
export const scheduleWatch = (onSchedule: Every, watch: Watch, now: () => Instant): void => {
  onSchedule(LOOK_EVERY, WATCH_JOB, async () => {
    await watch.look()
    const { snapshots } = await watch.history(1)
    // a little less than so long: the job does not run to the millisecond
    if (now() - (snapshots[0]?.at ?? 0) >= SNAPSHOT_EVERY - LOOK_EVERY / 2) await watch.snapshot()
  })
}
