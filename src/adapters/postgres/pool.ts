import type { Tools } from '../../contracts/tools.ts'
import { within } from '../../core/within.ts'
import type { Client, Driver, Result, Statement } from './client.ts'
import type { Settings } from './settings.ts'
import { closedError, isFatal, unavailable, unreachable } from './trouble.ts'

/** Puts one statement and waits for its answer, no longer than the timeout. */
export type Ask = (statement: Statement) => Promise<Result>

/** A few connections, made when they are needed and made again after they were lost. */
export interface Pool {
  readonly place: string
  /** One statement: a transaction of its own. */
  readonly ask: Ask
  /**
   * All of it or nothing. Statements that are put together are worked off in that order; behind one that fails all fail.
   * `first` go with the beginning; what they write they write only where `BEGUN`. `last` goes with the end: when it answers
   * all is durable.
   */
  transaction<T>(
    work: (ask: Ask, first: readonly Result[], last: Ask) => Promise<T>,
    first?: readonly Statement[],
  ): Promise<T>
  /** Waits for what is under way, then leaves. */
  close(): Promise<void>
}

export const openPool = (driver: Driver, settings: Settings, { clock }: Tools): Pool => {
  const { place, timeout, pool: most } = settings
  const idle: Client[] = []
  const waiting: ((client: Client | undefined) => void)[] = []
  const working = new Set<Promise<unknown>>()
  let count = 0
  let closed = false

  const late = () => unavailable(place, `no answer within ${timeout} ms`)

  const drop = (client: Client): void => {
    const at = idle.indexOf(client)
    if (at >= 0) idle.splice(at, 1)
    // a server that no longer answers would not hear a good-bye
    client.connection?.stream?.destroy()
  }

  const connect = async (): Promise<Client> => {
    const client = new driver.Client({
      connectionString: settings.connectionString,
      application_name: 'reprieve',
      keepAlive: true,
      pipeline: true,
      connectionTimeoutMillis: timeout * 2,
    })
    let there = true
    const gone = () => {
      if (!there) return
      there = false
      count--
      drop(client)
      waiting.shift()?.(undefined) // it may make a connection of its own
    }
    client.on('error', gone) // without a listener an error would end the process
    client.on('end', gone)
    count++
    try {
      await within(clock, timeout, client.connect(), late)
      await within(clock, timeout, client.query({ text: sessionFor(timeout) }), late)
      return client
    } catch (error) {
      drop(client)
      gone()
      throw unreachable(error, place, settings.user)
    }
  }

  const acquire = async (): Promise<Client> => {
    for (;;) {
      if (closed) throw closedError(place)
      const free = idle.pop()
      if (free) return free
      if (count < most) return connect()
      const turn = Promise.withResolvers<Client | undefined>()
      waiting.push(turn.resolve)
      const got = await within(clock, timeout, turn.promise, () => {
        waiting.splice(waiting.indexOf(turn.resolve), 1)
        return unavailable(place, `none of ${most} connections was free within ${timeout} ms`)
      })
      if (got) return got
    }
  }

  const release = (client: Client): void => {
    const next = waiting.shift()
    if (next) next(client)
    else idle.push(client)
  }

  const use = async <T>(work: (ask: Ask) => Promise<T>, undo?: Statement): Promise<T> => {
    const client = await acquire()
    let lost = false
    const ask: Ask = async (statement) => {
      try {
        return await within(clock, timeout, client.query(statement), late)
      } catch (error) {
        lost ||= isFatal(error)
        throw lost ? unavailable(place, 'the connection was lost', error) : error
      }
    }
    try {
      return await work(ask)
    } catch (error) {
      // the first error is the one to tell; a transaction that can't be undone ends with its connection
      if (undo && !lost) await ask(undo).catch(() => {})
      throw error
    } finally {
      if (lost) drop(client)
      else release(client)
    }
  }

  const known = <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.finally(() => working.delete(tracked))
    working.add(tracked)
    return tracked
  }

  return {
    place,
    ask: (statement) => known(use((ask) => ask(statement))),
    transaction: (work, first = []) =>
      known(
        use(async (ask) => {
          const [, ...answers] = await Promise.all([BEGIN, ...first].map(ask))
          let ended = false
          const last: Ask = async (statement) => {
            ended = true
            // behind a statement that failed this undoes all
            return (await Promise.all([statement, COMMIT].map(ask)))[0]!
          }
          const result = await work(ask, answers, last)
          if (!ended) await ask(COMMIT)
          return result
        }, ROLLBACK),
      ),
    close: async () => {
      closed = true
      await Promise.allSettled(working)
      await Promise.all(
        idle.splice(0).map(async (client) => {
          await within(clock, timeout / 5, client.end(), late).catch(() => drop(client))
        }),
      )
    },
  }
}

/** Whatever the database's default is: who waited for a row must see what it waited for. */
const BEGIN: Statement = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' }
/**
 * Put before what writes and goes with the beginning: were that refused, each statement would be a transaction of its own, and
 * what is said here over with this one.
 */
export const SAY_BEGUN: Statement = { text: "SELECT set_config('reprieve.begun', 'yes', true)" }
export const BEGUN = "current_setting('reprieve.begun', true) = 'yes'"
const COMMIT: Statement = { text: 'COMMIT' }
const ROLLBACK: Statement = { text: 'ROLLBACK' }

/**
 * The server gives up too when we do: no statement runs on for nobody, and whoever stands still inside a transaction
 * lets go of its rows. What resolved must be durable, so a server that answers before its log is on disk is told not to.
 * Rows are looked up by name, or in the order of an index, always: a plan made while a table was empty must not read all of it when it has grown. What is
 * read whole all the same counts as dear then, and must not be compiled for it.
 */
const sessionFor = (timeout: number): string => `
SELECT set_config('statement_timeout', '${timeout}', false),
  set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false),
  set_config('enable_sort', 'off', false), set_config('jit', 'off', false),
  set_config('lock_timeout', '${Math.ceil(timeout / 2)}', false),
  set_config('idle_in_transaction_session_timeout', '${timeout * 2}', false),
  CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END`
