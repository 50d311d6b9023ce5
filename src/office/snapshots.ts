import type { Board } from '../contracts/board.ts'
import type { Deaths, Tally } from '../contracts/groups.ts'
import type { Letters } from '../contracts/letters.ts'
import { isOver } from '../core/alarm.ts'
import type { Json } from '../core/json.ts'
import { MOST_ERRORS, MOST_QUEUES, type QueueDepth, type Snapshot } from '../core/snapshot.ts'
import { type Instant, iso, type Millis } from '../core/time.ts'
import { type RuleBook, rulesFor } from '../rules/index.ts'
import { NOT_AT_AN_END } from './groups.ts'

const DAY: Millis = 24 * 60 * 60_000
/** How long snapshots are kept. */
const KEPT_DAYS = 7
const PREFIX = 'office/snapshot/'

/** By day, so that a look at the newest needs not read all of them. */
const dayEntry = (at: Instant): string => `${PREFIX}${iso(at).slice(0, 10)}/`

/** How the letters stand now: from kept tallies, whose rows are as many as there are causes. */
export const takeSnapshot = async ({ groups }: Letters, book: RuleBook, now: Instant): Promise<Snapshot> => {
  const [tallies, oldest, deaths] = await Promise.all([
    groups.tallies(),
    groups.oldest(NOT_AT_AN_END),
    groups.deaths(),
  ])
  const live = tallies.filter(({ state }) => NOT_AT_AN_END.includes(state))
  const queues = queuesOf(live)
  const errors = [...Map.groupBy(live, errorOf)].map(([name, alike]) => [name, sum(alike)] as const)
  return {
    at: now,
    depth: sum(live),
    queues: queues.slice(0, MOST_QUEUES),
    moreQueues: Math.max(0, queues.length - MOST_QUEUES),
    errors: Object.fromEntries(errors.sort(([, a], [, b]) => b - a).slice(0, MOST_ERRORS)),
    ...(oldest !== undefined && { oldest: Math.max(0, now - oldest) }),
    over: overThreshold(live, book),
    ...averageOf(deaths),
  }
}

/** What is told apart among failures: by its code, or its kind where it has none. */
export const errorOf = ({ code, kind }: Tally): string => code ?? kind

const queuesOf = (live: readonly Tally[]): readonly QueueDepth[] =>
  [...Map.groupBy(live, ({ service, topic }) => JSON.stringify([service, topic])).values()]
    .map((alike) => ({ service: alike[0]!.service, topic: alike[0]!.topic, depth: sum(alike) }))
    .sort((a, b) => b.depth - a.depth || (a.service + a.topic < b.service + b.topic ? -1 : 1))

/** Services of which some rule about depth says that it is too deep. */
const overThreshold = (live: readonly Tally[], book: RuleBook): number =>
  [...Map.groupBy(live, ({ service }) => service)].filter(([service, all]) =>
    [...Map.groupBy(all, ({ type }) => JSON.stringify(depthRule(book, service, type)))].some(([, alike]) => {
      const rule = depthRule(book, service, alike[0]!.type)
      return rule !== undefined && isOver(rule, sum(alike))
    }),
  ).length

const depthRule = (book: RuleBook, service: string, type: string) =>
  rulesFor(book, service, type).alerts.find(({ metric }) => metric === 'depth')

const averageOf = (deaths: readonly Deaths[]): Pick<Snapshot, 'arrived' | 'averageRetries'> => {
  const arrived = deaths.reduce((all, { letters }) => all + letters, 0)
  const retries = deaths.reduce((all, each) => all + each.retries, 0)
  return { arrived, ...(arrived > 0 && { averageRetries: Math.round((retries / arrived) * 100) / 100 }) }
}

export const sum = (tallies: readonly Tally[]): number => tallies.reduce((all, { count }) => all + count, 0)

/** On the board, which forgets it by itself when its time is over. */
export const keepSnapshot = async (board: Board, snapshot: Snapshot): Promise<void> => {
  const { at } = snapshot
  await board.post(`${dayEntry(at)}${iso(at)}`, snapshot as unknown as Json, KEPT_DAYS * DAY)
}

/** The newest ones, in the order of time. */
export const snapshotsFrom = async (
  board: Board,
  limit: number,
  now: Instant,
): Promise<readonly Snapshot[]> => {
  let found: readonly Snapshot[] = []
  for (let days = 0; days <= KEPT_DAYS && found.length < limit; days++) {
    const entries = await board.read(dayEntry(now - days * DAY))
    found = [...entries.map(({ value }) => value as unknown as Snapshot), ...found]
  }
  return found.slice(-limit)
}
