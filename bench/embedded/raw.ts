import { DatabaseSync } from 'node:sqlite'
import type { Contender, Heat } from '../harness.ts'
import { BATCH, batches, counter, newId, type Order } from '../load.ts'
import { freshFile } from './file.ts'

/**
 * The queue a competent engineer would write by hand on one SQLite file: leases and tokens, so that a crash
 * loses nothing; a row per processed event, so that nothing is processed twice; and one commit a batch.
 */
const SCHEMA = `
CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  event TEXT NOT NULL,
  type TEXT NOT NULL,
  time TEXT NOT NULL,
  data BLOB NOT NULL,
  run_at INTEGER NOT NULL,
  token INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX queue_ready ON queue (run_at, id);
CREATE TABLE seen (event TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`
const LEASE = 30_000
export const TYPE = 'order.placed'

export const openRaw = () => {
  const { path, clear } = freshFile()
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000')
  database.exec(SCHEMA)
  return {
    database,
    close: async () => {
      database.close()
      clear()
    },
  }
}

export const publisher = (database: DatabaseSync) => {
  const insert = database.prepare(
    'INSERT INTO queue (event, type, time, data, run_at) VALUES (?, ?, ?, ?, ?)',
  )
  return (orders: readonly Order[]): void => {
    database.exec('BEGIN IMMEDIATE')
    for (const order of orders) {
      const now = new Date()
      insert.run(newId(), TYPE, now.toISOString(), Buffer.from(JSON.stringify(order)), now.getTime())
    }
    database.exec('COMMIT')
  }
}

export const rawPublishing: Contender = {
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const { database, close } = openRaw()
    const publish = publisher(database)
    const load = [...batches(events)]
    publish(load[0]!)
    return {
      run: async () => {
        let published = 0
        for (const orders of load) {
          publish(orders)
          published += orders.length
          await nextTurn()
        }
        return { events: published }
      },
      close,
    }
  },
}

interface Row {
  readonly id: number
  readonly token: number
  readonly event: string
  readonly data: Uint8Array
  /** It was processed before: only to be forgotten. */
  readonly done: 0 | 1
}

/** The fused loop: what the last batch came to and the claim of the next one share a commit. */
export const rawConsuming: Contender = {
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const { database, close } = openRaw()
    const publish = publisher(database)
    for (const orders of batches(events)) publish(orders)
    const { handle, seen } = counter(events)
    return { run: async () => consume(database, handle).then(() => ({ events: seen() })), close }
  },
}

const consume = async (database: DatabaseSync, handle: (order: Order) => Promise<void>): Promise<void> => {
  const claim = database.prepare(
    `UPDATE queue SET run_at = ?, token = token + 1
     WHERE id IN (SELECT id FROM queue WHERE run_at <= ? ORDER BY run_at, id LIMIT ${BATCH})
     RETURNING id, token, event, data, EXISTS (SELECT 1 FROM seen WHERE seen.event = queue.event) AS done`,
  )
  const remember = database.prepare('INSERT OR IGNORE INTO seen (event, at) VALUES (?, ?)')
  const forget = database.prepare('DELETE FROM queue WHERE id = ? AND token = ?')
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let batch: Row[] = []
  do {
    const now = Date.now()
    database.exec('BEGIN IMMEDIATE')
    for (const { id, token, event } of batch) {
      remember.run(event, now)
      forget.run(id, token)
    }
    const claimed = claim.all(now + LEASE, now) as unknown as Row[]
    database.exec('COMMIT')
    for (const { done, data } of claimed) if (!done) await handle(JSON.parse(utf8.decode(data)))
    batch = claimed
    await nextTurn()
  } while (batch.length > 0)
}

/** A process that also serves others gives the event loop back between batches. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
