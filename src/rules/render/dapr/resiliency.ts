import type { RuleBook } from '../../book.ts'
import { type Part, pairsOf, servicesOf } from '../pairs.ts'
import { circuitBreakerOf } from './breakers.ts'
import { ALWAYS, type Loss } from './loss.ts'
import { retriedStatuses, retryOf } from './retries.ts'
import { held, type ResiliencyDocument, resiliencySchema, type Target } from './schema.ts'
import { targetsOf, unnamedTimeouts } from './targets.ts'
import { goDuration, resourceName } from './words.ts'

export interface DaprOptions extends Pick<Part, 'service'> {
  /** Constant delays, which Dapr keeps to the letter, where growth matters less than exactness. */
  readonly exact?: boolean
}

/**
 * The book as a Resiliency document: every policy, timeout and breaker by its name, and the targets of the book's
 * `dapr` section. Losses of what no target uses are not told.
 */
export const resiliencyOf = (
  book: RuleBook,
  { service, exact = false }: DaprOptions = {},
): { readonly document: ResiliencyDocument; readonly losses: readonly Loss[] } => {
  const [only] = service === undefined ? [] : servicesOf(book, { service })
  const scopes = only === undefined ? book.dapr.scopes : [only]
  const { targets, losses } = targetsOf(book, pairsOf(book, { service }))
  const statuses = retriedStatuses(book.defaults.overrides ?? [])
  const retries = [...book.policies.values()].map((policy) => ({
    name: policy.name,
    ...retryOf(policy, statuses, exact),
  }))
  const breakers = [...book.breakers.values()].map((breaker) => ({
    name: breaker.name,
    ...circuitBreakerOf(breaker),
  }))
  const used = allTargets(targets)
  const told = [
    ...retries.filter(({ name }) => used.some(({ retry }) => retry === name)),
    ...breakers.filter(({ name }) => used.some(({ circuitBreaker }) => circuitBreaker === name)),
  ].flatMap((each) => each.losses)
  const document: ResiliencyDocument = {
    apiVersion: 'dapr.io/v1alpha1',
    kind: 'Resiliency',
    metadata: {
      name: resourceName(only ?? 'reprieve', 'resiliency'),
      ...(book.dapr.namespace !== undefined && { namespace: book.dapr.namespace }),
    },
    ...(scopes && scopes.length > 0 && { scopes: [...scopes] }),
    spec: {
      policies: {
        retries: Object.fromEntries(retries.map(({ name, retry }) => [name, retry])),
        timeouts: Object.fromEntries(
          [...book.timeouts, ...unnamedTimeouts(book)].map(([name, ms]) => [name, goDuration(ms)]),
        ),
        circuitBreakers: Object.fromEntries(
          breakers.map(({ name, circuitBreaker }) => [name, circuitBreaker]),
        ),
      },
      targets,
    },
  }
  return { document: held(resiliencySchema, document), losses: [...ALWAYS, ...told, ...losses] }
}

const allTargets = ({
  components = {},
  apps = {},
}: ResiliencyDocument['spec']['targets']): readonly Target[] =>
  [
    ...Object.values(components).flatMap(({ inbound, outbound }) => [inbound, outbound]),
    ...Object.values(apps),
  ].filter((target) => target !== undefined)
