import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'
import { parameter, strayAt } from '../../core/url.ts'
import type { TlsFiles } from './tls.ts'

/** What a `kafka://` URL says. */
export interface Settings {
  readonly brokers: readonly string[]
  /** Of topics that we create; one that exists keeps what it has. */
  readonly partitions: number
  /** -1: the broker's own default. */
  readonly replication: number
  readonly session: Millis
  readonly heartbeat: Millis
  /** undefined: none is spoken. */
  readonly tls?: TlsFiles
  readonly sasl?: Sasl
}

export interface Sasl {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  readonly username: string
  readonly password: string
}

const FORM =
  'kafka://[user:password@]host:port[,host:port][?partitions=3&replication=1&tls=true&ca=ca.pem&sasl=plain]'
const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const KNOWN = ['partitions', 'replication', 'session', 'heartbeat', 'tls', 'sasl', 'ca', 'cert', 'key']

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Several brokers in one URL are more than the URL class takes, so it is read by hand. Where it names no user, no
 * password or no file, REPRIEVE_KAFKA_USER, _PASSWORD, _CA, _CERT and _KEY do: a URL is written in more places than
 * a secret should be.
 */
export const readUrl = (url: string, env: Environment = {}): Settings => {
  const stray = strayAt(url)
  if (stray) throw refused(stray)
  const parts = /^kafka:\/\/(?:(?<user>[^@/?]*)@)?(?<brokers>[^@/?]+)\/?(?:\?(?<query>.*))?$/.exec(
    url,
  )?.groups
  if (!parts) throw refused('a Kafka URL does not have the form it needs')
  const query = new URLSearchParams(parts.query ?? '')
  for (const name of query.keys()) if (!KNOWN.includes(name)) throw refused(`${parameter(name)} is not known`)
  const session = whole(query, 'session', 10_000, 1_000)
  const heartbeat = whole(query, 'heartbeat', 500, 50)
  if (heartbeat * 3 > session) throw refused('its heartbeat must be at most a third of its session')
  const sasl = credentials(parts.user, query.get('sasl'), env)
  const tls = tlsOf(query, env)
  return {
    brokers: parts.brokers!.split(',').map(broker),
    partitions: whole(query, 'partitions', 3, 1),
    replication: whole(query, 'replication', -1, 1),
    session,
    heartbeat,
    ...(tls && { tls }),
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

/** Whoever names an authority of his own wants TLS; our own certificate alone may be for something else. */
const tlsOf = (query: URLSearchParams, env: Environment): TlsFiles | undefined => {
  const ca = query.get('ca') || env.REPRIEVE_KAFKA_CA
  const cert = query.get('cert') || env.REPRIEVE_KAFKA_CERT
  const key = query.get('key') || env.REPRIEVE_KAFKA_KEY
  const named = ['ca', 'cert', 'key'].some((name) => query.has(name))
  if (query.has('tls') && !flag(query.get('tls'))) {
    if (named) throw refused('it names files for TLS and says tls=false')
    return undefined
  }
  if (!query.has('tls') && !named && !env.REPRIEVE_KAFKA_CA) return undefined
  if (!cert !== !key) throw refused(`a certificate of ours needs both '?cert=' and '?key='`)
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

const credentials = (named: string | undefined, sasl: string | null, env: Environment): Sasl | undefined => {
  const inUrl = named ? encoded(named) : undefined
  const username = inUrl?.username || env.REPRIEVE_KAFKA_USER
  if (!username) {
    if (sasl !== null) throw refused('it asks for sasl and names no user')
    return undefined
  }
  const password = inUrl?.password || env.REPRIEVE_KAFKA_PASSWORD || ''
  const mechanism = MECHANISMS.find((each) => each === (sasl ?? 'plain').toUpperCase())
  if (!mechanism) throw refused(`its sasl '${sasl}' is none of ${MECHANISMS.join(', ').toLowerCase()}`)
  return { mechanism, username, password }
}

const encoded = (user: string) => {
  const colon = user.indexOf(':')
  try {
    const username = decodeURIComponent(colon < 0 ? user : user.slice(0, colon))
    return { username, password: colon < 0 ? '' : decodeURIComponent(user.slice(colon + 1)) }
  } catch {
    throw refused('its user or password is not percent-encoded rightly')
  }
}

/** Never repeats the URL: it may hold a password. */
const refused = (why: string) => new ReprieveError('bad_url', `kafka URL: ${why}`, { fix: `write ${FORM}` })
