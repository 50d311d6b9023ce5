import type { Clock } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import type { Admin, Base, Broker, Client, Connection, Consumer } from './client.ts'

/** Which brokers failed, and in which order: known to all connections of one transport. */
export interface Lapses {
  note(broker: Broker): void
  /** Whoever failed longest ago, or never, comes first. */
  inOrder(brokers: readonly Broker[]): Broker[]
}

export const lapsesOf = (): Lapses => {
  const failed = new Map<string, number>()
  let count = 0
  const nameOf = ({ host, port }: Broker) => `${host}:${port}`
  const at = (broker: Broker) => failed.get(nameOf(broker)) ?? 0
  return {
    note: (broker) => void failed.set(nameOf(broker), ++count),
    inOrder: (brokers) => brokers.toSorted((a, b) => at(a) - at(b)),
  }
}

export interface Detours {
  readonly client: Client
  readonly clock: Clock
  readonly lapses: Lapses
  /** How long a broker may take to answer; undefined: as long as the connection lets it. */
  limit(request: string): Millis | undefined
  /** Who is asked which requests the brokers speak; else it asks by itself. */
  readonly apis?: Admin
}

type Callback = (error: Error | null, answer?: unknown) => void
type Ask = (connection: Connection, ...more: unknown[]) => void

const ANSWERED = 'answered'

/**
 * Keeps one sick broker from stopping what the others could do. By itself the client refuses to know anything about
 * any topic while one partition has no leader, begins every question at the first broker of the list, and waits for each
 * request as long as for the longest.
 */
export const goRound = <T extends Base>(instance: T, detours: Detours): T => {
  const { client, clock, lapses, limit, apis } = detours
  const getApi = instance[client.kGetApi].bind(instance)
  const bootstrap = instance[client.kOptions].bootstrapBrokers.map((each) => client.parseBroker(each))
  let last: Broker | undefined

  for (const event of ['client:broker:failed', 'client:broker:disconnect'] as const) {
    instance.on(event, ({ broker }) => {
      if (!instance.closed) lapses.note(broker)
    })
  }

  // One that is cut while it signs on tells so twice, the second time when nobody listens any more; and that ends a process
  instance.connections.on('connecting', ({ connection }) => void connection.on('error', () => {}))

  const inTime =
    (ask: Ask, ms: Millis, name: string): Ask =>
    (connection, ...more) => {
      const callback = more.pop() as Callback
      const done = new AbortController()
      const end: Callback = (error, answer) => {
        if (done.signal.aborted) return
        done.abort(ANSWERED)
        callback(error, answer)
      }
      void clock.sleep(ms, done.signal).then(() => {
        if (done.signal.aborted) return
        const { host, port } = connection
        if (host !== undefined && port !== undefined) lapses.note({ host, port })
        end(new client.TimeoutError(`${name} was not answered within ${ms} ms`, { canRetry: true }))
        // whatever waits there would get no answer either
        connection.socket.destroy()
      })
      ask(connection, ...more, end)
    }

  const override = {
    [client.kGetApi]: (name: string, callback: Callback) =>
      getApi(name, (error, api) => {
        if (error || !api) return callback(error)
        const ms = limit(name)
        const limited = ms === undefined ? (api as Ask) : inTime(api as Ask, ms, name)
        const ask = name === 'Metadata' ? tolerant(limited) : limited
        callback(
          null,
          Object.assign((...given: Parameters<Ask>) => ask(...given), api),
        )
      }),
    [client.kGetBootstrapConnection]: (callback: Callback, attempt = 0) => {
      // its answer was of no use
      if (attempt > 0 && last) lapses.note(last)
      const found = instance.currentMetadata?.brokers.values() ?? []
      const brokers = lapses.inOrder([...bootstrap, ...found])
      last = brokers[0]
      instance.connections.getFirstAvailable(brokers, callback as never)
    },
    ...(apis && { [client.kListApis]: (callback: Callback) => apis[client.kListApis](callback as never) }),
  }
  return Object.assign(instance, override)
}

/**
 * A coordinator may be named by a broker that has not heard yet that it is gone. By itself a consumer then looks its brokers up
 * anew, and asks for that one again for as long as it stays away.
 */
export const seekCoordinator = (consumer: Consumer, { NetworkError }: Client): Consumer => {
  const { connections } = consumer
  const get = connections.get.bind(connections)
  const getKnown = (broker: Broker | undefined, callback: (error: Error | null) => void) => {
    if (broker) return get(broker, callback)
    consumer.clearMetadata()
    callback(new NetworkError('the coordinator of the group is gone'))
  }
  Object.assign(connections, { get: getKnown })
  return consumer
}

/** What an answer says of other partitions is as true where one has no leader. */
const tolerant =
  (ask: Ask): Ask =>
  (connection, ...more) => {
    const callback = more.pop() as Callback
    ask(connection, ...more, (error: Error | null, answer: unknown) => {
      const known = error ? answerIn(error) : undefined
      callback(known ? null : error, known ?? answer)
    })
  }

interface Answered {
  readonly response?: unknown
  readonly errors?: readonly { readonly path?: string }[]
}

/** The brokers' answer about topics that the client took for an error, where only partitions are at fault. */
export const answerIn = (error: unknown): unknown => {
  const { response, errors = [] } = error as Answered
  return errors.every(({ path }) => path?.includes('/partitions/')) ? response : undefined
}
