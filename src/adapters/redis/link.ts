import { hash } from 'node:crypto'
import type { Tools } from '../../contracts/tools.ts'
import { within } from '../../core/within.ts'
import type { Client, Driver } from './client.ts'
import type { Settings } from './settings.ts'
import { closedError, isFatal, refusalOf, unavailable, unreachable } from './trouble.ts'

/** One connection, made when it is needed and made again after it was lost. Every step has an end in time. */
export interface Link {
  readonly place: string
  command(words: readonly string[]): Promise<unknown>
  /** Runs a script: by its digest where the server knows it already, which it forgets when it restarts. */
  run(script: Script, keys: readonly string[], words: readonly string[]): Promise<unknown>
  close(): Promise<void>
}

export interface Script {
  readonly text: string
  readonly digest: string
}

export const scriptOf = (text: string): Script => ({ text, digest: hash('sha1', text) })

export const openLink = (driver: Driver, settings: Settings, { clock }: Tools): Link => {
  const { place, timeout } = settings
  const working = new Set<Promise<unknown>>()
  let current: Client | undefined
  let connecting: Promise<Client> | undefined
  let closed = false

  const late = () => unavailable(place, `no answer within ${timeout} ms`)

  const leave = (client: Client): void => {
    if (current === client) current = undefined
    try {
      client.destroy()
    } catch {
      // it has left already
    }
  }

  const connect = async (): Promise<Client> => {
    const client = driver.createClient(clientSettings(settings))
    client.on('error', () => {}) // without a listener an error would end the process
    client.on('terminated', () => leave(client))
    try {
      await within(clock, timeout, client.connect(), late)
    } catch (error) {
      leave(client)
      throw unreachable(error, place, settings.username)
    }
    current = client
    return client
  }

  const connection = async (): Promise<Client> => {
    if (closed) throw closedError(place)
    if (current) return current
    connecting ??= connect().finally(() => {
      connecting = undefined
    })
    return connecting
  }

  const command = async (words: readonly string[]): Promise<unknown> => {
    const client = await connection()
    try {
      return await within(clock, timeout, client.sendCommand(words), late)
    } catch (error) {
      if (!isFatal(error)) throw error
      leave(client)
      throw unavailable(place, 'the connection was lost', error)
    }
  }

  const run: Link['run'] = async ({ text, digest }, keys, words) => {
    const rest = [String(keys.length), ...keys, ...words]
    try {
      return await command(['EVALSHA', digest, ...rest])
    } catch (error) {
      if (refusalOf(error) !== 'NOSCRIPT') throw error
      return command(['EVAL', text, ...rest])
    }
  }

  const known = <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.finally(() => working.delete(tracked))
    working.add(tracked)
    return tracked
  }

  return {
    place,
    command: (words) => known(command(words)),
    run: (script, keys, words) => known(run(script, keys, words)),
    close: async () => {
      await Promise.allSettled(working)
      closed = true
      if (current) leave(current)
    },
  }
}

const clientSettings = ({ host, port, tls, username, password, database, timeout }: Settings) =>
  ({
    socket: {
      host,
      port,
      ...(tls && { tls: true as const }),
      connectTimeout: timeout * 2, // only so that an abandoned socket does not stay for ever
      reconnectStrategy: false,
    },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    name: 'reprieve',
    RESP: 2,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
  }) as const
