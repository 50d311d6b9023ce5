import type { Tally } from '../contracts/groups.ts'
import type { Pace } from '../core/pace.ts'
import type { Instant } from '../core/time.ts'
import type { Waits } from '../core/waiting.ts'
import { type Alert, type RuleBook, rulesFor } from '../rules/index.ts'
import { errorOf, sum } from './snapshots.ts'

/** One figure that a rule is about. */
export interface Reading {
  /** Of the service, or the breaker. */
  readonly of: string
  readonly alert: Alert
  /** Absent: nothing is known, or too little to say anything. */
  readonly figure?: number | undefined
}

/** What was seen, all of it counted elsewhere. */
export interface Seen {
  readonly now: Instant
  /** Of letters not at an end. */
  readonly live: readonly Tally[]
  /** When the oldest of them was buried, by service. */
  readonly oldest: ReadonlyMap<string, Instant>
  /** New letters a minute, by service. */
  readonly inflow: ReadonlyMap<string, number>
  /** What services did in the last minutes. */
  readonly paces: ReadonlyMap<string, Pace>
  /** How many events wait for services, where their processes tell. */
  readonly waiting: ReadonlyMap<string, Waits>
  /** Breakers that are not closed, and since when. */
  readonly unwell: ReadonlyMap<string, Instant>
}

/** A share of fewer says nothing, where the rules do not say otherwise. */
const ENOUGH = 10
/** Stands for all events of a service that have no row of their own. */
const ANY = '*'

export const readingsOf = (book: RuleBook, seen: Seen): readonly Reading[] => [
  ...[...Map.groupBy(seen.live, ({ service }) => service)].flatMap(([service, live]) =>
    ofLetters(book, service, live, seen),
  ),
  ...[...seen.paces].flatMap(([service, pace]) => ofPace(book, service, pace)),
  ...[...seen.waiting].flatMap(([service, waits]) => ofWaiting(book, service, waits, seen.now)),
  ...ofBreakers(book, seen),
]

const ruleFor = (book: RuleBook, service: string, type: string, metric: string): Alert | undefined =>
  rulesFor(book, service, type).alerts.find((alert) => alert.metric === metric)

const ofLetters = (
  book: RuleBook,
  service: string,
  live: readonly Tally[],
  { oldest, inflow, now }: Seen,
): readonly Reading[] => {
  /** Events with the same rule are counted together. */
  const byRule = (metric: string): readonly { alert: Alert; alike: readonly Tally[] }[] =>
    [
      ...Map.groupBy(live, ({ type }) => JSON.stringify(ruleFor(book, service, type, metric) ?? null)),
    ].flatMap(([, alike]) => {
      const alert = ruleFor(book, service, alike[0]!.type, metric)
      return alert ? [{ alert, alike }] : []
    })
  /** Known of the service as a whole: the strictest of its rules. */
  const strictest = (metric: string): Alert | undefined =>
    byRule(metric)
      .map(({ alert }) => alert)
      .reduce<Alert | undefined>((a, b) => (a && a.threshold <= b.threshold ? a : b), undefined)
  const whole = (metric: string, figure: number | undefined): readonly Reading[] => {
    const alert = strictest(metric)
    return alert ? [reading(service, alert, figure, figure ?? 0)] : []
  }
  const buried = oldest.get(service)
  return [
    ...byRule('depth').map(({ alert, alike }) => reading(service, alert, sum(alike), sum(alike))),
    ...byRule('quarantined').map(({ alert, alike }) => {
      const aside = sum(alike.filter(({ state }) => state === 'quarantined'))
      return reading(service, alert, aside, aside)
    }),
    ...byRule('errorShare').map(({ alert, alike }) => {
      const most = Math.max(...[...Map.groupBy(alike, errorOf).values()].map(sum))
      return share(service, alert, most, sum(alike))
    }),
    ...whole('oldest', buried === undefined ? undefined : now - buried),
    ...whole('inflow', inflow.get(service)),
  ]
}

const ofPace = (book: RuleBook, service: string, pace: Pace): readonly Reading[] => {
  const { attempts, retries, duplicates, batches, batchTimeouts, criticalBatches } = pace
  const shares = [
    ['retryRate', retries, attempts],
    ['duplicates', duplicates, attempts + duplicates],
    ['batchTimeouts', batchTimeouts, batches],
  ] as const
  const rates = shares.flatMap(([metric, some, all]) => {
    const alert = ruleFor(book, service, ANY, metric)
    return alert ? [share(service, alert, some, all)] : []
  })
  const critical = ruleFor(book, service, ANY, 'criticalBatches')
  return critical ? [...rates, reading(service, critical, criticalBatches, criticalBatches)] : rates
}

/** What waits has not been looked into: the rule is that of the service, not of its events. */
const ofWaiting = (
  book: RuleBook,
  service: string,
  { waiting, oldest }: Waits,
  now: Instant,
): readonly Reading[] => {
  const since = waiting === 0 ? now : oldest
  const figures = [
    ['lag', waiting],
    ['lagAge', since === undefined ? undefined : Math.max(0, now - since)],
  ] as const
  return figures.flatMap(([metric, figure]) => {
    const alert = ruleFor(book, service, ANY, metric)
    return alert ? [reading(service, alert, figure, waiting)] : []
  })
}

/** A breaker is nobody's alone: the strictest rule of any service that the book names, else what is built in. */
const ofBreakers = (book: RuleBook, { unwell, now }: Seen): readonly Reading[] => {
  const services = book.services.size > 0 ? [...book.services.keys()] : [ANY]
  const alert = services
    .flatMap((service) => ruleFor(book, service, ANY, 'breakerOpen') ?? [])
    .reduce<Alert | undefined>((a, b) => (a && a.threshold <= b.threshold ? a : b), undefined)
  return alert ? [...unwell].map(([name, since]) => ({ of: name, alert, figure: now - since })) : []
}

const reading = (of: string, alert: Alert, figure: number | undefined, all: number): Reading =>
  figure === undefined || all < (alert.atLeast ?? 0) ? { of, alert } : { of, alert, figure }

const share = (of: string, alert: Alert, some: number, all: number): Reading =>
  all === 0 || all < (alert.atLeast ?? ENOUGH) ? { of, alert } : { of, alert, figure: some / all }
