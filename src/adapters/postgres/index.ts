import type { Open } from '../../contracts/adapter.ts'
import type { AppStore } from '../../contracts/store.ts'
import { auditOf } from './audit.ts'
import { boardOf } from './board.ts'
import { loadDriver } from './client.ts'
import { forgettingIn } from './forgetting.ts'
import { ledgerOf } from './ledger.ts'
import { makeLetterTables } from './letter-schema.ts'
import { lettersOf } from './letters.ts'
import { operationsOf } from './operations.ts'
import { openPool } from './pool.ts'
import { makeReady } from './schema.ts'
import { readUrl } from './settings.ts'

export { doctor } from './doctor.ts'
export { whyNoAudit } from './there.ts'

/** `postgres://host/database`: all that a store keeps, for any number of hosts; no transport. */
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
  const ready = once(() => makeLetterTables(pool, schema))
  const forgetting = forgettingIn(pool, schema, tools)
  const store: AppStore = {
    name: 'postgres',
    ledger: ledgerOf(pool, schema, tools, forgetting.wrote),
    board: boardOf(pool, schema, tools, forgetting.posted),
    letters: lettersOf(pool, schema, tools.clock, ready),
    audit: auditOf(pool, schema, ready, tools),
    operations: operationsOf(pool, schema, ready),
    ready,
    close: () => pool.close(),
  }
  return { store }
}) satisfies Open

/** Done once, whoever asks; what failed is tried again by the next who asks. */
const once = (work: () => Promise<void>): (() => Promise<void>) => {
  let working: Promise<void> | undefined
  return () => {
    working ??= work().catch((error: unknown) => {
      working = undefined
      throw error
    })
    return working
  }
}
