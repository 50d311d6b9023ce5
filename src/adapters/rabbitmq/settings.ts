import { ReprieveError } from '../../core/error.ts'
import type { Server } from './client.ts'

export interface Settings {
  readonly server: Server
  /** Where that is, for messages: never with credentials. */
  readonly place: string
  /** The topic exchange that events are published to. */
  readonly exchange: string
  /** The type of the subscriptions' queues. */
  readonly queue: 'quorum' | 'classic'
}

/** Seconds; half a minute of silence on both sides ends a connection. */
const HEARTBEAT = 15
const KNOWN = ['exchange', 'queue', 'heartbeat']

/** amqp[s]://user:password@host:port/vhost?exchange=…&queue=quorum|classic&heartbeat=seconds */
export const readUrl = (url: string): Settings => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const protocol = parsed?.protocol.slice(0, -1)
  if (!parsed?.hostname || (protocol !== 'amqp' && protocol !== 'amqps')) {
    throw refuse('this is not an amqp:// or amqps:// URL with a host in it')
  }
  for (const name of parsed.searchParams.keys()) {
    if (!KNOWN.includes(name)) throw refuse(`'?${name}=' is not known`)
  }
  const queue = parsed.searchParams.get('queue') ?? 'quorum'
  if (queue !== 'quorum' && queue !== 'classic')
    throw refuse(`'?queue=${queue}' is neither quorum nor classic`)
  const heartbeat = Number(parsed.searchParams.get('heartbeat') ?? HEARTBEAT)
  if (!Number.isInteger(heartbeat) || heartbeat < 0) throw refuse(`'?heartbeat=' is no number of seconds`)
  const hostname = parsed.hostname.replace(/^\[|\]$/g, '')
  const port = Number(parsed.port) || (protocol === 'amqp' ? 5672 : 5671)
  const vhost = parsed.pathname.slice(1)
  return {
    server: {
      protocol,
      hostname,
      port,
      heartbeat,
      ...(parsed.username !== '' && { username: decodeURIComponent(parsed.username) }),
      ...(parsed.password !== '' && { password: decodeURIComponent(parsed.password) }),
      ...(vhost !== '' && { vhost }),
    },
    place: `${parsed.hostname}:${port}${vhost && `/${vhost}`}`,
    exchange: parsed.searchParams.get('exchange') || 'reprieve.events',
    queue,
  }
}

const refuse = (why: string): ReprieveError =>
  new ReprieveError('bad_url', `transport URL for RabbitMQ: ${why}`, {
    fix: `write it as amqp://user:password@host:5672/vhost, with ${KNOWN.map((name) => `?${name}=`).join(', ')} if wanted`,
  })
