import { totalsOf } from '../../core/totals.ts'
import type { RuleBook } from '../book.ts'
import type { Breaker } from '../builtin.ts'
import { showDuration } from '../duration.ts'
import type { Rules } from '../rules.ts'
import { showBackoff, showBreaker, showBudget, showPoison } from '../show.ts'
import { bullets, code, grid, page, section, words } from './markdown.ts'
import { type Part, pairsOf } from './pairs.ts'
import {
  count,
  dataLossWords,
  defaultCategory,
  eventWords,
  KEYS,
  limitWords,
  matchWords,
  metricTitle,
  patternWords,
  reprocessingWords,
  roughly,
  thresholdWords,
} from './phrases.ts'

/** Rule sheets: for one pair, for the rows of a service, or for the whole book. */
export const renderSheet = (book: RuleBook, part: Part = {}): string => {
  const pairs = pairsOf(book, part)
  if (pairs.length === 0) return page([section(1, 'Rule sheets'), 'The rule book names no service.'])
  return pairs.map(sheetOf).join('\n')
}

const sheetOf = (rules: Rules): string =>
  page([
    section(1, `${code(rules.service)} consuming ${eventWords(rules.event)}`),
    COVERED[rules.covered],
    bullets([
      `Consumer group: ${code(rules.consumerGroup)}`,
      `Topic: ${code(rules.topic)}`,
      `Criticality: ${rules.criticality}`,
      `Data loss: ${dataLossWords(rules.dataLoss)}`,
      `Channel: ${rules.channel === undefined ? 'none' : code(rules.channel)}`,
      rules.priority !== undefined && `Priority: ${rules.priority}`,
      `Order: ${rules.order === 'key' ? `by order key; after a death, ${rules.afterDeath}` : 'none'}`,
      rules.ttl !== undefined && `Time to live: ${showDuration(rules.ttl)}`,
    ]),
    section(2, 'Errors judged otherwise than usual'),
    overridesOf(rules),
    section(2, 'Retry'),
    retryOf(rules),
    section(2, 'Dead letters'),
    deadLettersOf(rules),
    section(2, 'Idempotency'),
    idempotencyOf(rules),
    section(2, 'Breaker'),
    breakersOf(rules),
    section(2, 'Timeouts'),
    timeoutsOf(rules),
    section(2, 'Alerts'),
    alertsOf(rules),
  ])

const COVERED: Readonly<Record<Rules['covered'], string | undefined>> = {
  exact: undefined,
  prefix: undefined,
  service: 'No row of the service names this event: what is said for the whole service holds.',
  default: 'The rule book does not name this service: only the defaults hold.',
}

const overridesOf = ({ overrides }: Rules): string =>
  overrides.length === 0
    ? 'None: every error is judged by the usual tree.'
    : grid(
        ['error', 'usually', 'here', 'reason'],
        overrides.map((override) => [
          matchWords(override),
          defaultCategory(override),
          override.category,
          words(override.reason),
        ]),
      )

const retryOf = ({ policy }: Rules): string => {
  if (policy.retries === 0)
    return bullets([`Policy: ${code(policy.name)}`, 'No retry: buried on the first failure'])
  const { least, expected, greatest } = totalsOf(policy)
  return bullets([
    `Policy: ${code(policy.name)}`,
    `Limit: ${limitWords(policy)}, ${count(policy.retries + 1, 'attempt')} in all`,
    `Backoff: ${showBackoff(policy.backoff)}`,
    `All delays together: at least ${roughly(least)}, ${roughly(expected)} to be expected, at most ${roughly(greatest)}`,
  ])
}

const deadLettersOf = ({ deadLetter, poison, alerts }: Rules): string => {
  const inflow = alerts.find(({ metric }) => metric === 'inflow')
  return bullets([
    `Destination: ${code(deadLetter.destination)}`,
    `Quarantine: ${code(deadLetter.quarantine)}`,
    `Kept: ${showDuration(deadLetter.retention)}`,
    deadLetter.expire !== undefined && `Dropped by the broker after: ${showDuration(deadLetter.expire)}`,
    `Reprocessing: ${reprocessingWords(deadLetter.reprocessing)}`,
    `Poison: ${poison ? showPoison(poison) : 'not looked for'}`,
    `Alert on inflow: ${inflow ? thresholdWords(inflow) : 'none'}`,
  ])
}

const idempotencyOf = ({ idempotency }: Rules): string =>
  bullets([
    `Pattern: ${patternWords(idempotency)}`,
    `Store: ${code(idempotency.store)}`,
    `Remembered: ${showDuration(idempotency.ttl)}`,
    `Key: ${KEYS[idempotency.key]}`,
  ])

const breakersOf = ({ breaker, dependencies }: Rules): string =>
  bullets([
    `Of the handler: ${breakerWords(breaker)}`,
    ...dependencies.map(({ name, breaker: own }) => `Of ${code(name)}: ${breakerWords(own)}`),
    ...dependencies.map(
      ({ name, budget }) => budget && `Retries that ${code(name)} bears: ${words(showBudget(budget))}`,
    ),
  ])

const breakerWords = (breaker: Breaker | undefined): string =>
  breaker ? words(showBreaker(breaker)) : 'none'

const timeoutsOf = ({ timeout, dependencies }: Rules): string =>
  bullets([
    `One attempt: ${showDuration(timeout)}`,
    ...dependencies.map(({ name, timeout: whole, timeouts }) => {
      const single = Object.entries(timeouts).map(([op, ms]) => `${code(op)} ${showDuration(ms)}`)
      return `${code(name)}: ${showDuration(whole)}${single.length > 0 ? ` (${single.join(', ')})` : ''}`
    }),
  ])

const alertsOf = ({ alerts }: Rules): string =>
  alerts.length === 0
    ? 'None.'
    : grid(
        ['metric', 'threshold', 'severity', 'action'],
        alerts.map((alert) => [
          metricTitle(alert.metric),
          thresholdWords(alert),
          alert.severity,
          words(alert.action),
        ]),
      )
