import type { Tally } from '../contracts/groups.ts'
import type { LetterState, Letters } from '../contracts/letters.ts'
import type { Instant } from '../core/time.ts'
import { HOUR, hourly, type LetterGroup, NOT_AT_AN_END } from './groups.ts'

/** How the letters stand, all from kept tallies. */
export interface Stats {
  readonly total: number
  readonly states: Readonly<Partial<Record<LetterState, number>>>
  /** Not at an end: open, replaying or quarantined. So are all the counts below. */
  readonly open: number
  /** When the oldest of them was buried. */
  readonly oldest?: Instant
  readonly subscriptions: readonly SubscriptionStats[]
  readonly categories: Readonly<Record<string, number>>
  readonly kinds: Readonly<Record<string, number>>
  readonly groups: {
    readonly open: number
    readonly isNew: number
    readonly regressed: number
    /** Nobody is on them. */
    readonly unowned: number
  }
  readonly lastHour: number
  readonly hourBefore: number
  /** Arrivals in each of the last 24 hours, the newest last. */
  readonly trend: readonly number[]
}

export interface SubscriptionStats {
  readonly service: string
  readonly topic: string
  readonly open: number
}

const TREND = 24

export const statsOf = async (
  { groups }: Letters,
  described: readonly LetterGroup[],
  now: Instant,
): Promise<Stats> => {
  const [tallies, arrivals, oldest] = await Promise.all([
    groups.tallies(),
    groups.arrivals(now - TREND * HOUR),
    groups.oldest(NOT_AT_AN_END),
  ])
  const live = tallies.filter(({ state }) => NOT_AT_AN_END.includes(state))
  const doors = Map.groupBy(live, ({ service, topic }) => JSON.stringify([service, topic]))
  const trend = hourly(arrivals, now, TREND)
  const open = described.filter((group) => group.open > 0)
  return {
    total: sum(tallies),
    states: sums(tallies, ({ state }) => state),
    open: sum(live),
    ...(oldest !== undefined && { oldest }),
    subscriptions: [...doors.values()]
      .map((alike) => ({ service: alike[0]!.service, topic: alike[0]!.topic, open: sum(alike) }))
      .sort((a, b) => b.open - a.open || (a.service + a.topic < b.service + b.topic ? -1 : 1)),
    categories: sums(live, ({ category }) => category),
    kinds: sums(live, ({ kind }) => kind),
    groups: {
      open: open.length,
      isNew: open.filter(({ isNew }) => isNew).length,
      regressed: open.filter(({ regressed }) => regressed).length,
      unowned: open.filter(({ owner }) => owner === undefined).length,
    },
    lastHour: trend.at(-1)!,
    hourBefore: trend.at(-2)!,
    trend,
  }
}

const sum = (tallies: readonly Tally[]): number => tallies.reduce((all, { count }) => all + count, 0)

const sums = (tallies: readonly Tally[], of: (tally: Tally) => string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...Map.groupBy(tallies, of)]
      .map(([name, alike]) => [name, sum(alike)] as const)
      .sort(([, a], [, b]) => b - a),
  )
