import { ReprieveError } from '../../core/error.ts'
import { decoded, parameter, strayAt } from '../../core/url.ts'
import type { Server } from './client.ts'
import type { TlsFiles } from './tls.ts'

export interface Settings {
  readonly server: Server
  readonly tls: TlsFiles
  /** Where that is, for messages: never with credentials. */
  readonly place: string
  /** The topic exchange that events are published to. */
  readonly exchange: string
  /** The type of the subscriptions' queues. */
  readonly queue: 'quorum' | 'classic'
}

/** Seconds; half a minute of silence on both sides ends a connection. */
const HEARTBEAT = 15
/** What the protocol can say. */
const MOST_HEARTBEAT = 65_535
/** Who does not say who he is: the client would send a password alone with no name at all. */
const GUEST = 'guest'
const KNOWN = ['exchange', 'queue', 'heartbeat', 'ca', 'cert', 'key']

type Environment = Readonly<Record<string, string | undefined>>

/**
 * amqp[s]://user:password@host:port/vhost?exchange=…&queue=quorum|classic&heartbeat=seconds&ca=file&cert=file&key=file
 *
 * Where it names no user, no password or no file, REPRIEVE_RABBITMQ_USER, _PASSWORD, _CA, _CERT and _KEY do: a URL is
 * written in more places than a secret should be.
 */
export const readUrl = (url: string, env: Environment = {}): Settings => {
  const stray = strayAt(url)
  if (stray) throw refuse(stray)
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const protocol = parsed?.protocol.slice(0, -1)
  if (!parsed?.hostname || (protocol !== 'amqp' && protocol !== 'amqps')) {
    throw refuse('this is not an amqp:// or amqps:// URL with a host, and a port up to 65535 if any')
  }
  if (url.includes('#')) throw refuse("what stands behind a '#' is not heard: write that of a name as %23")
  const asked = parsed.searchParams
  for (const name of asked.keys()) if (!KNOWN.includes(name)) throw refuse(`${parameter(name)} is not known`)
  const queue = asked.get('queue') ?? 'quorum'
  if (queue !== 'quorum' && queue !== 'classic') throw refuse(`'?queue=' is neither quorum nor classic`)
  const beats = asked.get('heartbeat') ?? HEARTBEAT
  const heartbeat = Number(beats)
  if (beats === '' || !Number.isInteger(heartbeat) || heartbeat < 0 || heartbeat > MOST_HEARTBEAT)
    throw refuse(`'?heartbeat=' is no number of seconds from 0 to ${MOST_HEARTBEAT}`)
  const hostname = parsed.hostname.replace(/^\[|\]$/g, '')
  const port = Number(parsed.port) || (protocol === 'amqp' ? 5672 : 5671)
  const vhost = parsed.pathname.slice(1)
  decoded(vhost, 'the virtual host', refuse) // by the client, later
  const password = decoded(parsed.password, 'the password', refuse) || env.REPRIEVE_RABBITMQ_PASSWORD
  const username =
    decoded(parsed.username, 'the user', refuse) || env.REPRIEVE_RABBITMQ_USER || (password && GUEST)
  return {
    server: {
      protocol,
      hostname,
      port,
      heartbeat,
      ...(username && { username }),
      ...(password && { password }),
      ...(vhost !== '' && { vhost }),
    },
    tls: protocol === 'amqps' ? filesOf(asked, env) : noFiles(asked),
    place: `${parsed.hostname}:${port}${vhost && `/${vhost}`}`,
    exchange: asked.get('exchange') || 'reprieve.events',
    queue,
  }
}

const filesOf = (asked: URLSearchParams, env: Environment): TlsFiles => {
  const ca = asked.get('ca') || env.REPRIEVE_RABBITMQ_CA
  const cert = asked.get('cert') || env.REPRIEVE_RABBITMQ_CERT
  const key = asked.get('key') || env.REPRIEVE_RABBITMQ_KEY
  if (!cert !== !key) throw refuse(`a certificate of ours needs both '?cert=' and '?key='`)
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** Whoever names a certificate believes the connection to be safe. */
const noFiles = (asked: URLSearchParams): TlsFiles => {
  const name = ['ca', 'cert', 'key'].find((each) => asked.has(each))
  if (name) throw refuse(`'?${name}=' is for amqps://, and amqp:// speaks no TLS`)
  return {}
}

const refuse = (why: string): ReprieveError =>
  new ReprieveError('bad_url', `transport URL for RabbitMQ: ${why}`, {
    fix: `write it as amqp://user:password@host:5672/vhost, with ${KNOWN.map((name) => `?${name}=`).join(', ')} if wanted`,
  })
