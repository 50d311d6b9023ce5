import type { Clock, Tools } from '../../contracts/tools.ts'
import type { Instant } from '../../core/time.ts'
import { type Client, type Connection, closeQuietly, isClosed } from './client.ts'
import { createHold, type Hold } from './hold.ts'
import { backoff, OVER, openWithin, PATIENCE, parting } from './patience.ts'
import type { Settings } from './settings.ts'
import { readTls } from './tls.ts'
import { closedError, unavailable, unreachable } from './unreachable.ts'
import { passUnreadableHeaders } from './unreadable-headers.ts'

/** One connection, made when it is needed and made again after it was lost. */
export interface Link {
  readonly place: string
  /** One try, where there is none. Rejects with `unavailable`. */
  connection(): Promise<Connection>
  /** Tries again until `PATIENCE` is over. */
  patiently(): Promise<Connection>
  /** Why the broker takes no publishes at the moment, if so. */
  blocked(): string | undefined
  /** Resolves when it takes them, the connection that it held up is over, or nobody wants to wait any more. */
  unblocked(signal: AbortSignal): Promise<void>
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
  let blocked: { readonly why: string; readonly hold: Hold } | undefined
  let closed = false
  /** Ends every socket that is left. */
  const over = new AbortController()

  const unblock = (): void => {
    blocked?.hold.end()
    blocked = undefined
  }

  const connect = async (): Promise<Connection> => {
    const hangUp = new AbortController()
    const signal = AbortSignal.any([hangUp.signal, over.signal])
    const connection = await reach(client, settings, clock, signal).catch((error: Error) => {
      hangUp.abort(OVER)
      throw error
    })
    if (closed) {
      void closeQuietly(connection)
      throw closedError(place)
    }
    passUnreadableHeaders(connection)
    let reason: Error | undefined
    connection.on('error', (error) => {
      reason = error
    })
    connection.on('close', (error) => {
      if (current === connection) {
        current = undefined
        unblock()
      }
      hangUp.abort(OVER) // the client only says good-bye, and waits for an answer that may never come
      if (!closed) lost(unavailable(place, 'the connection was lost', reason ?? error))
    })
    connection.on('blocked', (why) => {
      blocked = { why, hold: blocked?.hold ?? createHold() }
    })
    connection.on('unblocked', unblock)
    if (isClosed(connection)) {
      hangUp.abort(OVER)
      throw unavailable(place, 'it closed the connection as soon as it was open')
    }
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
    blocked: () => blocked?.why,
    unblocked: async (signal) => blocked?.hold.over(signal),
    close: async () => {
      closed = true
      // a server that does not answer must not keep us from leaving
      await parting(clock, current ? closeQuietly(current) : Promise.resolve(connecting))
      over.abort(OVER)
    },
  }
}

const reach = async (
  client: Client,
  settings: Settings,
  clock: Clock,
  signal: AbortSignal,
): Promise<Connection> => {
  const { server, tls } = settings
  const dial = async (): Promise<Connection> =>
    client.connect(server, {
      ...(server.protocol === 'amqps' && (await readTls(tls))),
      noDelay: true,
      keepAlive: true,
      timeout: PATIENCE * 2, // only so that an abandoned socket does not stay for ever
      signal,
      clientProperties: { connection_name: 'reprieve' },
    })
  try {
    return await openWithin(clock, dial(), () => new Error(`no answer within ${PATIENCE} ms`))
  } catch (error) {
    throw unreachable(error as NodeJS.ErrnoException, settings)
  }
}
