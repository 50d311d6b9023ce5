import type { Arrivals, KeptGroup, Tally } from '../contracts/groups.ts'
import type { LetterState } from '../contracts/letters.ts'
import { SLOT, slotOf } from '../core/group.ts'
import type { Instant, Millis } from '../core/time.ts'
import type { Rules } from '../rules/index.ts'

/** Letters in these states still wait for someone or something. */
export const NOT_AT_AN_END: readonly LetterState[] = ['open', 'replaying', 'quarantined']

/** Letters with one fingerprint, as an operator looks at them. */
export interface LetterGroup extends KeptGroup {
  readonly services: readonly string[]
  readonly topics: readonly string[]
  readonly types: readonly string[]
  readonly categories: readonly Tally['category'][]
  readonly kinds: readonly Tally['kind'][]
  readonly codes: readonly string[]
  /** Not at an end: open, replaying or quarantined. */
  readonly open: number
  readonly total: number
  readonly states: Readonly<Partial<Record<LetterState, number>>>
  /** Buried in the last hour, to within five minutes, and in the hour before. */
  readonly lastHour: number
  readonly hourBefore: number
  /** How many more that is; below 0 it calms down. */
  readonly growth: number
  /** The highest that the rules say for any of its events. */
  readonly criticality: Rules['criticality']
  /** First seen within a day, and nobody has said anything of it. */
  readonly isNew: boolean
  /** It came back after all were at an end, and nobody has said anything of it since. */
  readonly regressed: boolean
  readonly snoozed: boolean
}

export const HOUR: Millis = 60 * 60_000
const DAY: Millis = 24 * HOUR
const WEIGHTS: Readonly<Record<Rules['criticality'], number>> = { low: 1, medium: 2, high: 4, critical: 8 }

export interface Known {
  readonly tallies: readonly Tally[]
  readonly arrivals: readonly Arrivals[]
  readonly now: Instant
  readonly criticalityOf: (service: string, type: string) => Rules['criticality']
}

/** Each group with all that is known of it. */
export const describeGroups = (groups: readonly KeptGroup[], known: Known): readonly LetterGroup[] => {
  const tallies = Map.groupBy(known.tallies, ({ fingerprint }) => fingerprint)
  const arrivals = Map.groupBy(known.arrivals, ({ fingerprint }) => fingerprint)
  return groups.map((group) =>
    describe(group, {
      ...known,
      tallies: tallies.get(group.fingerprint) ?? [],
      arrivals: arrivals.get(group.fingerprint) ?? [],
    }),
  )
}

const describe = (group: KeptGroup, { tallies, arrivals, now, criticalityOf }: Known): LetterGroup => {
  const states: Partial<Record<LetterState, number>> = {}
  for (const { state, count } of tallies) states[state] = (states[state] ?? 0) + count
  const [hourBefore, lastHour] = hourly(arrivals, now, 2) as [number, number]
  const levels = tallies.map(({ service, type }) => criticalityOf(service, type))
  return {
    ...group,
    services: distinct(tallies.map(({ service }) => service)),
    topics: distinct(tallies.map(({ topic }) => topic)),
    types: distinct(tallies.map(({ type }) => type)),
    categories: distinct(tallies.map(({ category }) => category)),
    kinds: distinct(tallies.map(({ kind }) => kind)),
    codes: distinct(tallies.flatMap(({ code }) => code ?? [])),
    open: NOT_AT_AN_END.reduce((sum, state) => sum + (states[state] ?? 0), 0),
    total: tallies.reduce((sum, { count }) => sum + count, 0),
    states,
    lastHour,
    hourBefore,
    growth: lastHour - hourBefore,
    criticality: levels.reduce((a, b) => (WEIGHTS[b] > WEIGHTS[a] ? b : a), levels[0] ?? 'medium'),
    isNew: group.tendedAt === undefined && now - group.firstAt < DAY,
    regressed: group.regressedAt !== undefined && group.regressedAt > (group.tendedAt ?? 0),
    snoozed: (group.snoozedUntil ?? 0) > now,
  }
}

const distinct = <T>(values: readonly T[]): readonly T[] => [...new Set(values)].sort()

/** How many came in each of the last hours, the newest last. An hour is twelve slots, of which the newest is still filling. */
export const hourly = (arrivals: readonly Arrivals[], now: Instant, hours: number): readonly number[] => {
  const counts = Array.from({ length: hours }, () => 0)
  for (const { at, count } of arrivals) {
    const ago = Math.floor((slotOf(now) - at) / SLOT / (HOUR / SLOT))
    if (ago >= 0 && ago < hours) counts[hours - 1 - ago]! += count
  }
  return counts
}

/** What hurts most comes first: growth by criticality, then what is new or came back, then what nobody is on. */
export const byHurt = (a: LetterGroup, b: LetterGroup): number => {
  for (const measure of MEASURES) {
    const difference = measure(b) - measure(a)
    if (difference !== 0) return difference
  }
  return a.fingerprint < b.fingerprint ? -1 : 1
}

const MEASURES: readonly ((group: LetterGroup) => number)[] = [
  ({ snoozed }) => -Number(snoozed),
  ({ growth, criticality }) => Math.max(0, growth) * WEIGHTS[criticality],
  ({ isNew, regressed }) => Number(isNew || regressed),
  ({ owner }) => Number(owner === undefined),
  ({ open, criticality }) => open * WEIGHTS[criticality],
  ({ lastAt }) => lastAt,
]
