import { LONGEST } from '../../adapters/kafka/tiers.ts'
import { LONGEST_WAIT } from '../../adapters/rabbitmq/names.ts'
import { ReprieveError } from '../../core/error.ts'
import { withoutSecret } from '../../open.ts'
import type { TransportFacts } from '../../rules/lint/index.ts'

/** RabbitMQ's `consumer_timeout`, unless its operator changed it. */
const CONSUMER_TIMEOUT = 30 * 60_000

const database = { later: Number.POSITIVE_INFINITY, order: 'key', patterns: true } as const

const postgres: TransportFacts = { name: 'postgres', ...database }

const rabbitmq: TransportFacts = {
  name: 'rabbitmq',
  later: LONGEST_WAIT,
  order: 'owner',
  patterns: true,
  unsettled: CONSUMER_TIMEOUT,
}

/** What each adapter can, as far as a rule book can ask too much of it: known without opening anything. */
export const TRANSPORTS: Readonly<Record<string, TransportFacts>> = {
  memory: { name: 'memory', ...database },
  sqlite: { name: 'sqlite', ...database },
  postgres,
  postgresql: postgres,
  amqp: rabbitmq,
  amqps: rabbitmq,
  kafka: { name: 'kafka', later: LONGEST, order: 'owner', patterns: false },
}

/** By a URL, or by its scheme alone. */
export const transportFacts = (url: string): TransportFacts => {
  const scheme = schemeOf(url)
  if (Object.hasOwn(TRANSPORTS, scheme)) return TRANSPORTS[scheme]!
  throw new ReprieveError('bad_url', `no adapter opens '${withoutSecret(url)}'`, {
    fix: `use one of ${Object.keys(TRANSPORTS).join(', ')}, or a URL that begins so`,
  })
}

export const schemeOf = (url: string): string => /^[^:]*/.exec(url)![0].toLowerCase()

/** Databases serve as store too; a broker has one beside it. */
export const isStore = (scheme: string): boolean =>
  ['memory', 'sqlite', 'postgres', 'postgresql'].includes(scheme)
