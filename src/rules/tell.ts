import { totalsOf } from '../core/totals.ts'
import type { Dependency } from './builtin.ts'
import { showDuration } from './duration.ts'
import type { Provenance, Rules, ServiceRules } from './rules.ts'
import {
  showAlert,
  showBackoff,
  showBatch,
  showBreaker,
  showBudget,
  showDemand,
  showPoison,
  showTotals,
} from './show.ts'

const showProvenance = (from: Provenance | undefined): string =>
  typeof from === 'object' ? `${from.file}:${from.line}` : (from ?? '')

type Row = readonly [label: string, value: string, from?: Provenance | undefined]

/** The rules of a pair for people: what, how much, and where that is written. */
export const explainText = (rules: Rules, service?: ServiceRules): string => {
  const { provenance: from, policy, idempotency, deadLetter } = rules
  const retries = policy.retries === 1 ? '1 retry' : `${policy.retries} retries`
  const limit = policy.window === undefined ? retries : `${retries} within ${showDuration(policy.window)}`
  const rows: readonly (Row | false | undefined)[] = [
    ['topic', rules.topic],
    ['consumer group', rules.consumerGroup, from.consumerGroup],
    ['criticality', rules.criticality, from.criticality],
    ['data loss', rules.dataLoss, from.dataLoss],
    rules.priority !== undefined && ['priority', rules.priority, from.priority],
    ['policy', policy.name, from.policy],
    ['  limit', limit, from['policy.definition']],
    policy.retries > 0 && ['  backoff', showBackoff(policy.backoff), from['policy.definition']],
    policy.retries > 0 && ['  delays in all', showTotals(totalsOf(policy)), from['policy.definition']],
    ['timeout', showDuration(rules.timeout), from.timeout],
    rules.breaker && ['breaker', rules.breaker.name, from.breaker],
    rules.breaker && ['  trips', showBreaker(rules.breaker), from['breaker.definition']],
    ...rules.dependencies.flatMap((dependency) => dependencyRows(dependency, from)),
    ...rules.overrides.map(
      ({ match, category, reason }, index): Row => [
        'override',
        `${Object.entries(match)
          .filter(([, value]) => value !== undefined)
          .map(([key, value]) => `${key} ${value}`)
          .join(', ')} is ${category}: ${reason}`,
        from[`overrides.${index}`],
      ],
    ),
    ['idempotency', idempotency.pattern, from['idempotency.pattern']],
    ['  store', idempotency.store, from['idempotency.store']],
    ['  remembered', showDuration(idempotency.ttl), from['idempotency.ttl']],
    ['  key', idempotency.key, from['idempotency.key']],
    rules.channel !== undefined && ['channel', rules.channel, from.channel],
    ['dead letters', deadLetter.destination, from['deadLetter.destination']],
    ['  quarantine', deadLetter.quarantine, from['deadLetter.quarantine']],
    ['  kept', showDuration(deadLetter.retention), from['deadLetter.retention']],
    deadLetter.expire !== undefined && [
      '  expire',
      showDuration(deadLetter.expire),
      from['deadLetter.expire'],
    ],
    ['  reprocessing', deadLetter.reprocessing, from['deadLetter.reprocessing']],
    ['poison', rules.poison ? showPoison(rules.poison) : 'not looked for', from.poison ?? 'built in'],
    ['order', rules.order, from.order],
    rules.order === 'key' && ['  after a death', rules.afterDeath, from.afterDeath],
    rules.batch && ['batch', showBatch(rules.batch), from.batch ?? from.priority],
    rules.concurrency && ['of its row at once', `${rules.concurrency.most}`, from.concurrency],
    rules.ttl !== undefined && ['time to live', showDuration(rules.ttl), from.ttl],
    ...rules.alerts.map(
      (alert): Row => ['alert', `${showAlert(alert)}: ${alert.severity}`, from[`alerts.${alert.metric}`]],
    ),
    ...(service ? consumerRows(service) : []),
  ]
  return `${rules.service} consuming ${rules.event}\n\n${table(rows.filter((row) => row !== false && row !== undefined))}`
}

const dependencyRows = (dependency: Dependency, from: Rules['provenance']): readonly Row[] => {
  const { name, timeout, breaker, budget } = dependency
  const defined = from[`dependencies.${name}`]
  return [
    [`depends on ${name}`, `${showDuration(timeout)} a call`, from.dependencies],
    ['  breaker', breaker ? showBreaker(breaker) : 'none', defined],
    ...(budget ? [['  budget', showBudget(budget), defined] as const] : []),
  ]
}

const consumerRows = ({ concurrency, window, lease, demand, batchers, provenance: from }: ServiceRules) => {
  const rows: readonly Row[] = [
    ['handlers at once', `${concurrency}`, from.concurrency],
    ['deliveries out', `${window}`, from.window],
    ['lease', showDuration(lease), from.lease],
    ...(demand ? [['demand', showDemand(demand), from.demand] as const] : []),
    ...[...batchers.values()].map(
      (batcher): Row => [`batcher ${batcher.name}`, showBatch(batcher), from[`batchers.${batcher.name}`]],
    ),
  ]
  return rows
}

const table = (rows: readonly Row[]): string => {
  const [first, second] = [0, 1].map((column) => Math.max(...rows.map((row) => String(row[column]).length)))
  return rows
    .map(([label, value, from]) =>
      `${label.padEnd(first!)}  ${value.padEnd(second!)}  ${showProvenance(from)}`.trimEnd(),
    )
    .join('\n')
}
