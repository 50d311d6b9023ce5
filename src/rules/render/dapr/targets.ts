import type { RuleBook } from '../../book.ts'
import { NO_BREAKER } from '../../builtin.ts'
import { showDuration } from '../../duration.ts'
import { timeoutOf } from '../../guards.ts'
import type { Rules } from '../../rules.ts'
import { isPubsub } from './components.ts'
import type { Loss } from './loss.ts'
import type { ResiliencyDocument, Target } from './schema.ts'
import { goDuration } from './words.ts'

type Targets = ResiliencyDocument['spec']['targets']
type Wanted = NonNullable<NonNullable<RuleBook['dapr']['apps']>[string]>
type Direction = 'inbound' | 'outbound'

/** The name under which a target's timeout is defined: its own, or one made of its length. */
const timeoutName = (timeout: Wanted['timeout']): string | undefined =>
  typeof timeout === 'number' ? `after-${goDuration(timeout)}` : timeout

/** Timeouts that targets write as a length, by the names they are given. */
export const unnamedTimeouts = ({ dapr }: RuleBook): ReadonlyMap<string, number> => {
  const all = [
    ...Object.values(dapr.apps ?? {}),
    ...Object.values(dapr.components ?? {}).flatMap(({ inbound, outbound }) => [inbound, outbound]),
  ]
  return new Map(
    all.flatMap((target) =>
      typeof target?.timeout === 'number' ? [[timeoutName(target.timeout)!, target.timeout] as const] : [],
    ),
  )
}

/** The targets of the document, and what they can't do of what the book says. */
export const targetsOf = (
  book: RuleBook,
  pairs: readonly Rules[],
): { readonly targets: Targets; readonly losses: readonly Loss[] } => {
  const losses: Loss[] = []
  const components: NonNullable<Targets['components']> = {}
  const apps: NonNullable<Targets['apps']> = {}
  for (const [name, { inbound, outbound }] of Object.entries(book.dapr.components ?? {})) {
    const one = (wanted: Wanted | undefined, direction: Direction): Target | undefined => {
      if (!wanted) return undefined
      const at = `components.${name}.${direction}`
      const pubsub = isPubsub(book.dapr, name)
      losses.push(...(pubsub ? pubsubLosses(at, wanted) : matchingLosses(at, wanted)))
      if (direction === 'inbound') losses.push(...inboundLosses(book, at, wanted, pubsub ? pairs : []))
      const target = targetOf(pubsub ? { ...wanted, breaker: undefined } : wanted)
      losses.push(...countedLosses(book, at, target))
      return target
    }
    const [into, out] = [one(inbound, 'inbound'), one(outbound, 'outbound')]
    components[name] = { ...(into && { inbound: into }), ...(out && { outbound: out }) }
  }
  for (const [name, wanted] of Object.entries(book.dapr.apps ?? {})) {
    apps[name] = targetOf(wanted)
    losses.push(...countedLosses(book, `apps.${name}`, apps[name]))
  }
  const targets = {
    ...(Object.keys(components).length > 0 && { components }),
    ...(Object.keys(apps).length > 0 && { apps }),
  }
  if (Object.keys(targets).length === 0) {
    const because =
      "the book's dapr section names no component and no app, and Dapr applies no policy by itself"
    losses.push({ at: 'targets', lost: 'everything', because })
  }
  return { targets, losses }
}

const targetOf = ({ policy, timeout, breaker }: Wanted): Target => {
  const limit = timeoutName(timeout)
  return {
    ...(policy !== undefined && { retry: policy }),
    ...(limit !== undefined && { timeout: limit }),
    ...(breaker !== undefined && breaker !== NO_BREAKER && { circuitBreaker: breaker }),
  }
}

const pubsubLosses = (at: string, { breaker }: Wanted): readonly Loss[] =>
  breaker === undefined || breaker === NO_BREAKER
    ? []
    : [
        {
          at,
          lost: `breaker ${breaker}`,
          because:
            'Dapr keeps one for both directions of a pub/sub component: open, it would send events straight to the dead-letter topic, and refuse to publish there too',
        },
      ]

const matchingLosses = (at: string, { policy }: Wanted): readonly Loss[] =>
  policy === undefined
    ? []
    : [
        {
          at,
          lost: 'the difference between permanent failures and others',
          because:
            'Dapr looks at status codes for apps and single deliveries only; here all failures are retried',
        },
      ]

/** One policy and one timeout for all that a component delivers: rows that say otherwise are named. */
const inboundLosses = (
  book: RuleBook,
  at: string,
  { policy, timeout }: Wanted,
  pairs: readonly Rules[],
): readonly Loss[] => {
  const limit = timeoutOf(timeout, book.timeouts)
  const name = ({ service, event }: Rules) => `${service} ${event}`
  const other = pairs.filter((rules) => policy !== undefined && rules.policy.name !== policy)
  const slower = pairs.filter((rules) => limit !== undefined && rules.timeout !== limit)
  const overridden = pairs.filter(({ overrides }) => overrides.length > 0)
  const because = 'Dapr has one for all events of a component'
  return [
    ...(timeout === undefined
      ? []
      : [
          {
            at,
            lost: 'the end of an attempt at its timeout',
            because: 'Dapr only stops waiting: the app goes on, and the next delivery overlaps with it',
          },
        ]),
    ...(other.length > 0
      ? [
          {
            at,
            lost: `policies of ${few(other, (rules) => `${name(rules)} (${rules.policy.name})`)}`,
            because: `${because}: ${policy}`,
          },
        ]
      : []),
    ...(slower.length > 0
      ? [
          {
            at,
            lost: `timeouts of ${few(slower, (rules) => `${name(rules)} (${showDuration(rules.timeout)})`)}`,
            because: `${because}: ${showDuration(limit!)}`,
          },
        ]
      : []),
    ...(overridden.length > 0
      ? [
          {
            at,
            lost: `overrides of ${few(overridden, name)}`,
            because: 'Dapr judges by status codes only',
          },
        ]
      : []),
  ]
}

/** Dapr's breaker counts every attempt: with no more failures than retries, one call opens it and ends itself. */
const countedLosses = (book: RuleBook, at: string, { retry, circuitBreaker }: Target): readonly Loss[] => {
  const retries = retry === undefined ? undefined : book.policies.get(retry)?.retries
  const failures = circuitBreaker === undefined ? undefined : book.breakers.get(circuitBreaker)?.failures
  if (retries === undefined || failures === undefined || failures > retries) return []
  return [
    {
      at,
      lost:
        failures === retries
          ? `retry ${retries} of ${retry}`
          : `retries ${failures} to ${retries} of ${retry}`,
      because: `Dapr's breaker counts attempts: ${circuitBreaker} opens on failure ${failures}, in the midst of one call's ${retries + 1} attempts; give it more than ${retries} failures, or the target a shorter policy`,
    },
  ]
}

const MOST_NAMED = 20

const few = (rows: readonly Rules[], show: (rules: Rules) => string): string => {
  const named = rows.slice(0, MOST_NAMED).map(show).join(', ')
  return rows.length > MOST_NAMED ? `${named} and ${rows.length - MOST_NAMED} more` : named
}
