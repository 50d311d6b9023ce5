import type { Can, Subscription } from '../contracts/transport.ts'
import type { Override } from '../core/classify.ts'
import { ReprieveError } from '../core/error.ts'
import type { Policy } from '../core/policy.ts'
import type { Millis } from '../core/time.ts'
import {
  destinationsFor,
  emptyBook,
  type RuleBook,
  type Rules,
  rulesFor,
  serviceRules,
} from '../rules/index.ts'
import type { Guard } from './guard.ts'
import type { Schema } from './handler.ts'
import { type Duration, millis } from './retry-duration.ts'
import { type PolicyName, type PolicySpec, policyOf } from './retry-policy.ts'

export interface ClientOptions<Data> {
  /** Where is sent to and received from. */
  readonly topic: string
  /** Who receives. What it does not acknowledge waits for it alone. Without it the client only sends. */
  readonly service?: string
  /** Types wanted, exact or with a trailing `*`. Default: all. */
  readonly types?: readonly string[]
  /** Of the data, by any library with Standard Schema; what does not fit it is buried, and never received. */
  readonly schema?: Schema<Data>
  /** What is not said here is as the rule book says it for this service and the event's type. */
  readonly rules?: RuleBook
  /** How often and when: to try again to send, and to see again what was rejected. */
  readonly policy?: PolicyName | Policy | PolicySpec
  /** Made by `createBreaker`; asked before the broker is. */
  readonly breaker?: Guard
  /** For each attempt to send. Default: only the overall one. */
  readonly timeout?: Duration
  /** For all attempts of one `send` and the waits between them. Default: 5 minutes. */
  readonly overall?: Duration
  /** How long a message may be held; then it is given back. Default: the rules' timeout for a handler. */
  readonly hold?: Duration
  /** The dead-letter destination, in place of the rules'. */
  readonly deadLetter?: string
  /** key: one message of an order key at a time, in the order they were sent, where the transport can. */
  readonly order?: 'none' | 'key'
  /** How many may be held at once. */
  readonly window?: number
  readonly lease?: Duration
  /** Where the classification would judge an error otherwise. */
  readonly overrides?: readonly Override[]
}

/** The receiving half, with everything looked up. */
export interface Reception {
  readonly subscription: Subscription
  rulesOf(type: string): Rules
}

/** Types come from outside: whoever sends a new one with each message must not fill the memory. */
const MOST_REMEMBERED = 1000

export const receptionOf = <Data>(
  options: ClientOptions<Data>,
  service: string,
  transport: { readonly name: string; readonly can: Can },
): Reception => {
  const { topic, types = ['*'], rules: book = emptyBook, order = 'none' } = options
  if (order === 'key' && transport.can.order !== 'key') {
    throw new ReprieveError(
      'no_order',
      `order: key was asked for ${topic}, which ${transport.name} can't keep`,
      { fix: 'use sqlite: or postgres:, or leave the order out' },
    )
  }
  const policy = options.policy === undefined ? undefined : policyOf(options.policy)
  const hold = options.hold === undefined ? undefined : millis('hold', options.hold, 0)
  const own = serviceRules(book, service)
  const remembered = new Map<string, Rules>()

  const rulesOf = (type: string): Rules => {
    let rules = remembered.get(type)
    if (!rules) {
      rules = over(rulesFor(book, service, type, topic))
      if (remembered.size >= MOST_REMEMBERED) remembered.clear()
      remembered.set(type, rules)
    }
    return rules
  }
  const over = (rules: Rules): Rules => ({
    ...rules,
    order,
    policy: policy ?? rules.policy,
    timeout: hold ?? rules.timeout,
    overrides: [...(options.overrides ?? []), ...rules.overrides],
    deadLetter: { ...rules.deadLetter, destination: options.deadLetter ?? rules.deadLetter.destination },
  })

  const destinations = destinationsFor(book, service, types, topic)
  const { deadLetter } = options
  return {
    subscription: {
      service,
      topic,
      consumerGroup: own.consumerGroup,
      types,
      order,
      lease: leaseOf(options.lease, own.lease),
      window: options.window ?? own.window,
      destinations: deadLetter === undefined ? destinations : [{ name: deadLetter }, ...destinations],
    },
    rulesOf,
  }
}

const leaseOf = (lease: Duration | undefined, otherwise: Millis): Millis => {
  const ms = millis('lease', lease, otherwise)
  if (ms > 0) return ms
  throw new ReprieveError('bad_usage', `lease: found '${lease}', expected more than nothing`)
}
