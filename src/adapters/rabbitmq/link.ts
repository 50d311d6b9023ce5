import type { Clock, Tools } from '../../contracts/tools.ts'
import { ReprieveError } from '../../core/error.ts'
import type { Instant } from '../../core/time.ts'
import { type Client, type Connection, closeQuietly } from './client.ts'
import { backoff, openWithin, PATIENCE, parting } from './patience.ts'
import type { Settings } from './settings.ts'

/** One connection, made when it is needed and made again after it was lost. */
export interface Link {
  readonly place: string
  /** One try, where there is none. Rejects with `unavailable`. */
  connection(): Promise<Connection>
  /** Tries again until `PATIENCE` is over. */
  patiently(): Promise<Connection>
  /** Why the broker takes no publishes at the moment, if so. */
  blocked(): string | undefined
  close(): Promise<void>
}

const LONGEST_BACKOFF = 2000

export const openLink = (
  client: Client,
  settings: Settings,
  tools: Tools,
  lost: (error: Error) => void = () => {},
): Link => {
  const { clock, dice } = tools
  const { place } = settings
  let current: Connection | undefined
  let connecting: Promise<Connection> | undefined
  let blocked: string | undefined
  let closed = false

  const connect = async (): Promise<Connection> => {
    const connection = await reach(client, settings, clock)
    if (closed) {
      void closeQuietly(connection)
      throw closedError(place)
    }
    let reason: Error | undefined
    connection.on('error', (error) => {
      reason = error
    })
    connection.on('close', (error) => {
      if (current === connection) current = undefined
      blocked = undefined
      if (!closed) lost(unavailable(place, 'the connection was lost', reason ?? error))
    })
    connection.on('blocked', (why) => {
      blocked = why
    })
    connection.on('unblocked', () => {
      blocked = undefined
    })
    current = connection
    return connection
  }

  const connection = async (): Promise<Connection> => {
    if (closed) throw closedError(place)
    if (current) return current
    connecting ??= connect().finally(() => {
      connecting = undefined
    })
    return connecting
  }

  return {
    place,
    connection,
    patiently: async () => {
      const until: Instant = clock.now() + PATIENCE
      for (let failures = 0; ; failures++) {
        try {
          return await connection()
        } catch (error) {
          const wait = backoff(failures, LONGEST_BACKOFF, dice)
          if (closed || clock.now() + wait >= until) throw error
          await clock.sleep(wait)
        }
      }
    },
    blocked: () => blocked,
    close: async () => {
      closed = true
      // a server that does not answer must not keep us from leaving
      await parting(clock, current ? closeQuietly(current) : Promise.resolve(connecting))
    },
  }
}

const reach = async (client: Client, { server, place }: Settings, clock: Clock): Promise<Connection> => {
  const work = client.connect(server, {
    noDelay: true,
    keepAlive: true,
    timeout: PATIENCE * 2, // only so that an abandoned socket does not stay for ever
    clientProperties: { connection_name: 'reprieve' },
  })
  try {
    return await openWithin(clock, work, () => new Error(`no answer within ${PATIENCE} ms`))
  } catch (error) {
    throw unreachable(error as NodeJS.ErrnoException, server, place)
  }
}

const unreachable = (
  error: NodeJS.ErrnoException,
  { hostname, port, username, vhost }: Settings['server'],
  place: string,
): ReprieveError => {
  const { code, message } = error
  const said = message.replace(/^.*with message "(.*)"$/s, '$1')
  if (code === 'ECONNREFUSED') {
    return unavailable(place, `nothing listens at ${hostname} port ${port} (ECONNREFUSED)`, error, {
      fix: 'start RabbitMQ, or mend host and port in the transport URL',
    })
  }
  if (code === 'ENOTFOUND') {
    return unavailable(place, `the host '${hostname}' is not known (ENOTFOUND)`, error, {
      fix: 'mend the host in the transport URL',
    })
  }
  if (said.includes('ACCESS_REFUSED')) {
    const fix = 'mend user and password in the transport URL, or create the user on the broker'
    return unavailable(place, `the user '${username ?? 'guest'}' was refused (ACCESS_REFUSED)`, error, {
      fix,
    })
  }
  if (said.startsWith('Expected ConnectionOpenOk')) {
    const fix = 'create the virtual host, or grant the user access to it'
    return unavailable(place, `the virtual host '${vhost ?? '/'}' was refused`, error, { fix })
  }
  return unavailable(place, `can't connect to ${hostname} port ${port}`, error)
}

export const unavailable = (
  place: string,
  what: string,
  cause?: unknown,
  options: { fix?: string } = {},
): ReprieveError => {
  const why = cause instanceof Error && !options.fix ? `: ${cause.message}` : ''
  return new ReprieveError('unavailable', `RabbitMQ at ${place}: ${what}${why}`, { ...options, cause })
}

export const closedError = (place: string): ReprieveError =>
  new ReprieveError('closed', `the transport to RabbitMQ at ${place} is closed`)
