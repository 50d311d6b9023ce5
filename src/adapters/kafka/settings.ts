import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'

/** What a `kafka://` URL says. */
export interface Settings {
  readonly brokers: readonly string[]
  /** Of topics that we create; one that exists keeps what it has. */
  readonly partitions: number
  /** -1: the broker's own default. */
  readonly replication: number
  readonly session: Millis
  readonly heartbeat: Millis
  readonly tls: boolean
  readonly sasl?: Sasl
}

export interface Sasl {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  readonly username: string
  readonly password: string
}

const FORM = 'kafka://[user:password@]host:port[,host:port][?partitions=3&replication=1&tls=true&sasl=plain]'
const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const KNOWN = ['partitions', 'replication', 'session', 'heartbeat', 'tls', 'sasl']

/** Several brokers in one URL are more than the URL class takes, so it is read by hand. */
export const readUrl = (url: string): Settings => {
  const parts = /^kafka:\/\/(?:(?<user>[^@/?]*)@)?(?<brokers>[^@/?]+)\/?(?:\?(?<query>.*))?$/.exec(
    url,
  )?.groups
  if (!parts) throw refused('a Kafka URL does not have the form it needs')
  const query = new URLSearchParams(parts.query ?? '')
  for (const name of query.keys()) if (!KNOWN.includes(name)) throw refused(`it does not know '${name}'`)
  const session = whole(query, 'session', 10_000, 1_000)
  const heartbeat = whole(query, 'heartbeat', 500, 50)
  if (heartbeat * 3 > session) throw refused('its heartbeat must be at most a third of its session')
  const sasl = credentials(parts.user, query.get('sasl'))
  return {
    brokers: parts.brokers!.split(',').map(broker),
    partitions: whole(query, 'partitions', 3, 1),
    replication: whole(query, 'replication', -1, 1),
    session,
    heartbeat,
    tls: flag(query.get('tls')),
    ...(sasl && { sasl }),
  }
}

const broker = (text: string): string => {
  const [, host, port] = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text.trim()) ?? []
  if (!host || Number(port ?? 9092) > 65_535) throw refused(`'${text}' is no host:port`)
  return `${host}:${port ?? 9092}`
}

const whole = (query: URLSearchParams, name: string, otherwise: number, least: number): number => {
  const text = query.get(name)
  if (text === null) return otherwise
  const value = Number(text)
  if (!Number.isInteger(value) || value < least) {
    throw refused(`its ${name} '${text}' is no whole number of at least ${least}`)
  }
  return value
}

const flag = (text: string | null): boolean => {
  if (text === null || text === 'false' || text === '0') return false
  if (text === 'true' || text === '1' || text === '') return true
  throw refused(`its tls '${text}' is neither true nor false`)
}

const credentials = (user: string | undefined, sasl: string | null): Sasl | undefined => {
  if (!user) {
    if (sasl !== null) throw refused('it asks for sasl and names no user')
    return undefined
  }
  const mechanism = MECHANISMS.find((each) => each === (sasl ?? 'plain').toUpperCase())
  if (!mechanism) throw refused(`its sasl '${sasl}' is none of ${MECHANISMS.join(', ').toLowerCase()}`)
  const colon = user.indexOf(':')
  try {
    const username = decodeURIComponent(colon < 0 ? user : user.slice(0, colon))
    return { mechanism, username, password: colon < 0 ? '' : decodeURIComponent(user.slice(colon + 1)) }
  } catch {
    throw refused('its user or password is not percent-encoded rightly')
  }
}

/** Never repeats the URL: it may hold a password. */
const refused = (why: string) => new ReprieveError('bad_url', `kafka URL: ${why}`, { fix: `write ${FORM}` })
