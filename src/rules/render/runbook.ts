import type { RuleBook } from '../book.ts'
import { showDuration } from '../duration.ts'
import type { Rules } from '../rules.ts'
import { dashboardTable } from './dashboard.ts'
import { code, grid, page, section } from './markdown.ts'
import { topologyMermaid } from './mermaid.ts'
import { type Part, pairsOf } from './pairs.ts'
import { count } from './phrases.ts'
import { policyTable } from './policies.ts'
import { replayProcedure } from './replay.ts'
import { type Destination, topologyOf } from './topology.ts'
import { namerOf } from './who.ts'

/** What who is on duty needs, on one page: topology, policies, dashboard, replay, poison. */
export const renderRunbook = (book: RuleBook, part: Part = {}): string => {
  const pairs = pairsOf(book, { service: part.service })
  if (pairs.length === 0) return page([section(1, 'Runbook'), 'The rule book names no service.'])
  const topology = topologyOf(book, part)
  return page([
    section(1, 'Runbook'),
    'Rendered from the rule book: change that, not this page.',
    section(2, 'Topology'),
    `Events come in on topics. What fails waits by its policy and comes back to the same service; what can't be saved
goes to its dead-letter destination, what is poison to quarantine. The office collects both.`,
    ['```mermaid', topologyMermaid(topology).trimEnd(), '```'].join('\n'),
    destinationTable(topology.destinations),
    section(2, 'Retry policies'),
    policyTable(pairs),
    section(2, 'Dashboard'),
    'One panel for each metric; each threshold is a line in its panel and an alert.',
    dashboardTable(pairs),
    section(2, 'Replay'),
    ...replayProcedure(topology),
    section(2, 'Poison'),
    `Poison is an event that fails again and again in the same way while others succeed, or that kills its worker. It is
set aside at once, apart from the other dead letters, and needs a person: a mended handler, or a mended event.`,
    poisonTable(pairs),
  ])
}

const destinationTable = (destinations: readonly Destination[]): string =>
  grid(
    ['destination', 'holds', 'of', 'kept in the office', 'dropped by the broker'],
    destinations.map(({ name, is, services, retention, expire }) => [
      code(name),
      is,
      services.map(code).join(', '),
      showDuration(retention),
      expire === undefined ? 'never' : `after ${showDuration(expire)}`,
    ]),
  )

const poisonTable = (pairs: readonly Rules[]): string => {
  const nameOf = namerOf(pairs)
  const found = Map.groupBy(pairs, ({ poison, deadLetter }) =>
    JSON.stringify([poison ?? null, deadLetter.quarantine]),
  )
  return grid(
    ['same failure', 'which failures count', 'crashes', 'quarantine', 'for'],
    [...found.values()].map((who) => [...poisonCells(who[0]!), nameOf(who)]),
  )
}

const poisonCells = ({ poison, deadLetter }: Rules): readonly string[] =>
  poison
    ? [
        `${count(poison.failures, 'time')} within ${showDuration(poison.within)}`,
        poison.categories.join(', '),
        count(poison.crashes, 'crash', 'crashes'),
        code(deadLetter.quarantine),
      ]
    : ['not looked for', '', '', '']
