import { ReprieveError } from '../../core/error.ts'
import type { Millis } from '../../core/time.ts'

/**
 * The few members of @redis/client that are used here. It is an optional peer: nobody who doesn't open a `redis://`
 * URL needs it, and none of its types leave this folder.
 */
export interface Driver {
  createClient(settings: ClientSettings): Client
}

export interface ClientSettings {
  readonly socket: {
    readonly host: string
    readonly port: number
    readonly tls?: true
    readonly connectTimeout: Millis
    /** Reconnecting is ours: a command must be refused while nobody is there, not kept for later. */
    readonly reconnectStrategy: false
  }
  readonly username?: string
  readonly password?: string
  readonly database: number
  readonly name: string
  readonly RESP: 2
  readonly disableOfflineQueue: true
  readonly maintNotifications: 'disabled'
}

export interface Client {
  connect(): Promise<unknown>
  sendCommand(words: readonly string[]): Promise<unknown>
  /** Leaves at once; what is under way is refused. */
  destroy(): void
  on(event: 'error' | 'terminated', listener: (error: Error) => void): unknown
}

export const loadDriver = async (
  load: () => Promise<unknown> = () => import('@redis/client'),
): Promise<Driver> => {
  try {
    return (await load()) as Driver
  } catch (cause) {
    throw new ReprieveError(
      'client_missing',
      'Redis needs the package @redis/client, which is not installed',
      { fix: 'npm install @redis/client@6', cause },
    )
  }
}
