import type { Open } from '../../contracts/adapter.ts'
import type { AppStore } from '../../contracts/store.ts'
import { createUnanswered } from '../../core/unanswered.ts'
import { auditOf } from './audit.ts'
import { bellsOf } from './bells.ts'
import { boardOf } from './board.ts'
import { claimWithin } from './claiming.ts'
import { loadDriver } from './client.ts'
import { forgettingIn } from './forgetting.ts'
import { ledgerOf } from './ledger.ts'
import { makeLetterTables } from './letter-schema.ts'
import { lettersOf } from './letters.ts'
import { operationsOf } from './operations.ts'
import { makeParcelTables } from './parcel-schema.ts'
import { openPool } from './pool.ts'
import type { Room } from './room.ts'
import { rowStatements } from './rows.ts'
import { makeReady } from './schema.ts'
import { readUrl } from './settings.ts'
import { subscriptionsIn } from './subscriptions.ts'
import { transportOf } from './transport.ts'

export { doctor } from './doctor.ts'
export { whyNoAudit } from './there.ts'

/** `postgres://host/database`: transport and store at once, for any number of hosts. */
export const open = (async (url, tools) => {
  const settings = readUrl(url)
  const pool = openPool(await loadDriver(), settings, tools)
  const { schema, poll } = settings
  try {
    await makeReady(pool, schema)
  } catch (error) {
    await pool.close()
    throw error
  }
  const ready = once(() => makeLetterTables(pool, schema))
  const forgetting = forgettingIn(pool, schema, tools)
  const unanswered = createUnanswered(tools.dice.uuid)
  const statements = rowStatements(schema)
  const room: Room = {
    ...{ pool, schema, poll, unanswered, ledger: statements },
    clock: tools.clock,
    bells: bellsOf(tools.clock),
    subscriptions: subscriptionsIn(pool, schema),
    claim: async (ask, keys, asking) => {
      const holders = { ...asking, unanswered: unanswered.holders }
      const claims = await claimWithin(ask, statements, keys, holders)
      forgetting.wrote(keys.length)
      return claims
    },
  }
  // most that open a store carry no events by it, and know of no transport that they would have to close
  let carries = false
  let stored = true
  const leave = async (): Promise<void> => {
    if (!carries && !stored) await pool.close()
  }
  const makeParcels = once(() => makeParcelTables(pool, schema))
  const transport = transportOf(room, {
    ready: () => {
      carries = true
      return makeParcels()
    },
    leave: () => {
      carries = false
      return leave()
    },
  })
  const store: AppStore = {
    name: 'postgres',
    ledger: ledgerOf(pool, schema, tools, forgetting.wrote, unanswered),
    board: boardOf(pool, schema, tools, forgetting.posted),
    letters: lettersOf(pool, schema, tools.clock, ready),
    audit: auditOf(pool, schema, ready, tools),
    operations: operationsOf(pool, schema, ready),
    ready,
    companion: transport,
    close: () => {
      stored = false
      return leave()
    },
  }
  return { transport, store }
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
