import { servers } from '../test/services/servers.ts'
import { openSession } from '../test/services/session.ts'

export interface Broker {
  readonly url: string
  readonly version: string
  /** By the environment: it is somebody's, and not ours to start anew. */
  readonly named: boolean
  /** Names it, for other processes. */
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** The server that the environment names, else one of our own, which ends with the run. */
export const openBroker = async (name: 'rabbitmq' | 'kafka' | 'postgres' | 'redis'): Promise<Broker> => {
  const session = openSession(servers.filter((server) => server.name === name))
  const stop = async (): Promise<void> => {
    await session.close()
    process.exit(130)
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const [outcome] = await session.outcomes
  if (!outcome?.had) {
    await session.close()
    throw new Error(`no ${name} server: ${outcome?.reason}`)
  }
  const close = async (): Promise<void> => {
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await session.close()
  }
  const { url, version, env, how } = outcome
  return { url, version, named: how === 'env', env: { [env]: url }, close }
}

/** One that a bench can do without; undefined where there is none. */
export const openIfThere = async (name: 'redis' | 'postgres'): Promise<Broker | undefined> =>
  openBroker(name).catch(() => undefined)
