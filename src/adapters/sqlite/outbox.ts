import type { Outbox, StoreTx } from '../../contracts/tx.ts'
import { ReprieveError } from '../../core/error.ts'
import { checkEvent, type Event } from '../../core/event.ts'
import type { Instant, Millis } from '../../core/time.ts'
import { checkMarked, underSavepoint } from './effect.ts'
import type { File } from './file.ts'
import { endClaim, markDone } from './ledger.ts'
import { type ParcelRow, readParcel, writtenOf } from './parcels.ts'
import type { Room } from './room.ts'

/** Made when it is first needed: most files never have one. */
const TABLE = `
CREATE TABLE IF NOT EXISTS reprieve_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL DEFAULT 0,
  order_key TEXT,
  event TEXT NOT NULL,
  source TEXT NOT NULL,
  type TEXT NOT NULL,
  attributes TEXT,
  headers TEXT,
  data BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS reprieve_outbox_order ON reprieve_outbox (order_key, id) WHERE order_key IS NOT NULL`

const INSERT = `
INSERT INTO reprieve_outbox (order_key, event, source, type, attributes, headers, data)
VALUES (?, ?, ?, ?, ?, ?, ?)`

const THERE = "SELECT 1 FROM sqlite_schema WHERE name = 'reprieve_outbox'"
const ANY = 'SELECT 1 FROM reprieve_outbox WHERE at <= ? LIMIT 1'

/** `at` is the end of a lease, or a time before which it is not tried again. Nobody passes one of his order key. */
const TAKE = `
UPDATE reprieve_outbox SET at = ? WHERE id IN (
  SELECT id FROM reprieve_outbox AS o WHERE at <= ? AND (order_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM reprieve_outbox AS e WHERE e.order_key = o.order_key AND e.id < o.id AND e.at > ?))
  ORDER BY id LIMIT ?)
RETURNING id, 0 AS token, 0 AS deliveries, order_key, 0 AS due, event, source, type, attributes, headers,
  NULL AS trail, data`

const GONE = 'DELETE FROM reprieve_outbox WHERE id = ?'
const AGAIN = 'UPDATE reprieve_outbox SET at = ? WHERE id = ?'

/** Long enough for a slow broker; whoever dies with it leaves it to the others after that time. */
const LEASE: Millis = 10_000

export const txOf = (room: Room): StoreTx => {
  const { file, writer, clock } = room
  return {
    name: 'sqlite',
    outbox: outboxOf(room),
    commit: (effect) =>
      writer.write(() =>
        underSavepoint(file, (run) => {
          const { key, held } = effect
          const now = clock.now()
          if (held) {
            if (!endClaim(file, held, 'done', now)) return 'lost'
          } else checkMarked(markDone(file, key, now))
          keepEvents(
            file,
            run(effect).map(({ event }) => event),
          )
          return 'done'
        }),
      ),
    publish: (client, events) => {
      const { exec, prepare } = (client ?? {}) as Partial<Theirs>
      if (typeof exec !== 'function' || typeof prepare !== 'function') {
        throw new ReprieveError('bad_usage', 'publish(…, { tx }) was given no connection to a SQLite file', {
          fix: 'pass the DatabaseSync on which your transaction is open, a connection to the same file',
        })
      }
      const theirs = client as Theirs
      theirs.exec(TABLE)
      const statement = theirs.prepare(INSERT)
      for (const event of events) statement.run(...columns(event))
    },
  }
}

interface Theirs {
  exec(text: string): void
  prepare(text: string): { run(...values: ReturnType<typeof columns>): unknown }
}

/** Within a commit. */
export const keepEvents = (file: File, events: readonly Event[]): void => {
  if (events.length === 0) return
  if (!file.sql(THERE).get()) file.exec(TABLE)
  for (const event of events) file.sql(INSERT).run(...columns(event))
}

const columns = (event: Event) => {
  checkEvent(event)
  const { id, source, type, attributes, headers, data, orderKey } = writtenOf(event)
  return [orderKey, id, source, type, attributes, headers, data] as const
}

const outboxOf = ({ file, writer, clock }: Room): Outbox => {
  /** The later ones of a key wait while an earlier one is out or put off, also where this very batch holds it. */
  const take = (most: number, now: Instant): readonly ParcelRow[] => {
    const rows = file.sql(TAKE).all(now + LEASE, now, now, most) as unknown as Record<string, unknown>[]
    return rows.map((row) => Object.values(row) as unknown as ParcelRow).sort(([a], [b]) => a - b)
  }
  const waits = (now: Instant): boolean => !!file.sql(THERE).get() && !!file.sql(ANY).get(now)
  return {
    relay: async (most, now, publish) => {
      if (!(await writer.read(() => waits(now)))) return 0
      const rows = await writer.write(() => take(most, now), most)
      if (rows.length === 0) return 0
      const settle = (relayed: readonly (true | Instant)[]): Promise<void> =>
        writer.write(() => {
          for (const [i, [id]] of rows.entries()) {
            const at = relayed[i]!
            if (at === true) file.sql(GONE).run(id)
            else file.sql(AGAIN).run(Math.ceil(at), id)
          }
        }, rows.length)
      try {
        await settle(await publish(rows.map((row) => readParcel(row).event)))
      } catch (error) {
        await settle(rows.map(() => clock.now()))
        throw error
      }
      return rows.length
    },
  }
}
