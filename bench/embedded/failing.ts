import type { DatabaseSync } from 'node:sqlite'
import type { Contender, Heat } from '../harness.ts'
import { BATCH, batches, counter } from '../load.ts'
import { nextTurn, openRaw, publisher } from './raw.ts'

interface Row {
  readonly id: number
  readonly token: number
  readonly tries: number
  readonly event: string
  readonly data: Uint8Array
}

type Ending = 'done' | 'again' | 'dead'

const LEASE = 30_000
const PAUSE = 1

/**
 * The same hand-written queue for events that fail: a try counted and a new time for what comes again, a row among the
 * dead for what does not; all of a batch, and the claim of the next one, in one commit.
 */
const contender = (endingOf: (tries: number) => Ending): Contender => ({
  name: 'raw',
  prepare: async (events): Promise<Heat> => {
    const { database, close } = openRaw()
    database.exec(`
      ALTER TABLE queue ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
      CREATE TABLE dead (event TEXT PRIMARY KEY, data BLOB NOT NULL, error TEXT NOT NULL, at INTEGER NOT NULL) STRICT`)
    const publish = publisher(database)
    for (const orders of batches(events)) publish(orders)
    const { handle, seen } = counter(events)
    return {
      run: async () => {
        await consume(database, events, endingOf, (data) => handle(JSON.parse(utf8.decode(data))))
        return { events: seen() }
      },
      close,
    }
  },
})

const utf8 = new TextDecoder('utf-8', { fatal: true })

export const rawFailingOnce = contender((tries) => (tries === 0 ? 'again' : 'done'))
export const rawDying = contender(() => 'dead')

const consume = async (
  database: DatabaseSync,
  events: number,
  endingOf: (tries: number) => Ending,
  handle: (data: Uint8Array) => Promise<void>,
): Promise<void> => {
  const claim = database.prepare(
    `UPDATE queue SET run_at = ?, token = token + 1
     WHERE id IN (SELECT id FROM queue WHERE run_at <= ? ORDER BY run_at, id LIMIT ${BATCH})
     RETURNING id, token, tries, event, data`,
  )
  const remember = database.prepare('INSERT OR IGNORE INTO seen (event, at) VALUES (?, ?)')
  const forget = database.prepare('DELETE FROM queue WHERE id = ? AND token = ?')
  const again = database.prepare('UPDATE queue SET run_at = ?, tries = tries + 1 WHERE id = ? AND token = ?')
  const bury = database.prepare('INSERT OR IGNORE INTO dead (event, data, error, at) VALUES (?, ?, ?, ?)')
  let batch: { readonly row: Row; readonly ending: Ending; readonly error: string }[] = []
  let ended = 0
  while (ended < events) {
    const now = Date.now()
    database.exec('BEGIN IMMEDIATE')
    for (const { row, ending, error } of batch) {
      if (ending === 'again') {
        again.run(now + PAUSE, row.id, row.token)
        continue
      }
      if (ending === 'dead') bury.run(row.event, row.data, error, now)
      else remember.run(row.event, now)
      forget.run(row.id, row.token)
      ended++
    }
    const claimed = claim.all(now + LEASE, now) as unknown as Row[]
    database.exec('COMMIT')
    batch = []
    for (const row of claimed) batch.push(await attempt(row, endingOf(row.tries), handle))
    await nextTurn()
  }
}

/** An error is made and caught, as it would be. */
const attempt = async (row: Row, ending: Ending, handle: (data: Uint8Array) => Promise<void>) => {
  try {
    await (ending === 'again' ? null : handle(row.data))
    if (ending !== 'done') throw new Error('it fails')
    return { row, ending, error: '' }
  } catch (error) {
    return { row, ending, error: String((error as Error).stack) }
  }
}
