import type { Open } from '../../contracts/adapter.ts'
import type { Store } from '../../contracts/store.ts'
import { boardOf } from './board.ts'
import { loadDriver } from './client.ts'
import { forgettingIn } from './forgetting.ts'
import { ledgerOf } from './ledger.ts'
import { openPool } from './pool.ts'
import { makeReady } from './schema.ts'
import { readUrl } from './settings.ts'

export { doctor } from './doctor.ts'

/** `postgres://host/database`: a ledger and a board for any number of hosts; no transport, no letters. */
export const open = (async (url, tools) => {
  const settings = readUrl(url)
  const pool = openPool(await loadDriver(), settings, tools)
  const { schema } = settings
  try {
    await makeReady(pool, schema)
  } catch (error) {
    await pool.close()
    throw error
  }
  const forgetting = forgettingIn(pool, schema, tools)
  const store: Store = {
    name: 'postgres',
    ledger: ledgerOf(pool, schema, tools, forgetting.wrote),
    board: boardOf(pool, schema, tools, forgetting.posted),
    close: () => pool.close(),
  }
  return { store }
}) satisfies Open
