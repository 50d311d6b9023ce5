import type { Mark, Marked, Tx } from '../../contracts/tx.ts'
import { ReprieveError } from '../../core/error.ts'
import { isSamePayload } from '../../core/ledger.ts'
import { instant, wordOf } from './keys.ts'
import { keepEvents, outboxIn } from './outbox.ts'
import type { PostgresTxOptions, TheirClient, TheirPool } from './tx-client.ts'
import { inTransaction } from './tx-run.ts'
import { makeTables } from './tx-tables.ts'

/**
 * Transactions in a PostgreSQL database of the user's, on connections of the user's own pool. The tables `inbox` and
 * `outbox` are made in a schema of ours when the app starts.
 */
export const postgresTx = <Client = TheirClient>(
  pool: { connect(): Promise<Client> },
  { schema = 'reprieve' }: PostgresTxOptions = {},
): Tx<Client> => {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new ReprieveError('bad_usage', `postgresTx: '${schema}' can't name a schema`, {
      fix: 'use small letters, digits and underscores',
    })
  }
  const theirs = pool as unknown as TheirPool
  const tx: Tx<TheirClient> = {
    name: 'postgres',
    ready: () => makeTables(theirs, schema),
    run: (work, signal) => inTransaction(theirs, work, signal),
    finish: (client, mark) => finish(client, schema, mark),
    publish: (client, events) => {
      if (typeof client?.query !== 'function') throw noClient()
      return keepEvents(client, schema, events)
    },
    outbox: outboxIn(theirs, schema),
  }
  return tx as unknown as Tx<Client>
}

/** Whoever comes second waits at the row until the first one has committed, or has not. */
const finish = async (client: TheirClient, schema: string, mark: Mark): Promise<Marked> => {
  const { hash, now, until } = mark
  const name = [wordOf(mark.service), wordOf(mark.id)]
  const { rowCount } = await client.query(
    `INSERT INTO ${schema}.inbox AS i (service, id, hash, until) VALUES ($1, $2, $3, $4)
     ON CONFLICT (service, id) DO UPDATE SET hash = excluded.hash, until = excluded.until WHERE i.until <= $5`,
    [...name, hash, instant(until), Math.floor(now)],
  )
  if (rowCount === 1) return 'fresh'
  const { rows } = await client.query(`SELECT hash FROM ${schema}.inbox WHERE service = $1 AND id = $2`, name)
  return isSamePayload(String(rows[0]?.hash), hash) ? 'done' : 'conflict'
}

const noClient = (): ReprieveError =>
  new ReprieveError('bad_usage', 'publish(…, { tx }) was given no PostgreSQL client', {
    fix: 'pass the client on which your transaction is open, as pool.connect() gave it',
  })
