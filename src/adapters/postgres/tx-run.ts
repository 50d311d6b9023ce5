import { ReprieveError } from '../../core/error.ts'
import type { TheirClient, TheirPool } from './tx-client.ts'

/** A server that answers before its log is on disk is told not to: what was committed is acknowledged. */
const BEGIN = `BEGIN; SELECT CASE current_setting('synchronous_commit')
  WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`

export const inTransaction = async <T>(
  pool: TheirPool,
  work: (client: TheirClient) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> => {
  const client = await pool.connect()
  let broken: Error | undefined
  const gone = (error: Error) => {
    broken ??= error
  }
  client.on('error', gone) // a connection that is cut tells so here as well, and nobody else listens
  const end = (error?: Error): void => {
    client.off('error', gone)
    if (error) client.on('error', () => {}) // while it is being closed
    client.release(error)
  }
  try {
    const value = await untilAborted(signal, async () => {
      await client.query(BEGIN)
      const worked = await work(client)
      const { command } = await client.query('COMMIT')
      if (command === 'ROLLBACK') throw failedInside()
      return worked
    })
    end(broken)
    return value
  } catch (error) {
    // whatever still runs on it, and whatever it holds, ends with the connection
    const undone =
      !broken &&
      !signal?.aborted &&
      (await client.query('ROLLBACK').then(
        () => true,
        () => false,
      ))
    end(undone ? undefined : (broken ?? asError(error)))
    throw error
  }
}

/** Whoever ignores the signal is left behind; his connection is closed under him. */
const untilAborted = async <T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> => {
  if (!signal) return work()
  if (signal.aborted) throw signal.reason
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    const working = work()
    working.catch(() => {}) // told by the race, or left behind with its connection
    return await Promise.race([working, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The server answers COMMIT with ROLLBACK where a statement failed and somebody caught its error. */
const failedInside = (): ReprieveError =>
  new ReprieveError('bad_usage', 'a statement inside ctx.tx failed, so PostgreSQL undid the transaction', {
    fix: 'let the error pass, or wrap what may fail in a SAVEPOINT',
  })

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
