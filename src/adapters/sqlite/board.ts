import type { Board, Entry } from '../../contracts/board.ts'
import type { Tools } from '../../contracts/tools.ts'
import type { Json } from '../../core/json.ts'
import type { Instant, Millis } from '../../core/time.ts'
import type { File } from './file.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

const READ = 'SELECT version, until FROM reprieve_board WHERE entry = ?'

const POST = `
INSERT INTO reprieve_board (entry, value, version, until) VALUES (?, ?, ?, ?)
ON CONFLICT (entry) DO UPDATE SET value = excluded.value, version = excluded.version, until = excluded.until`

const FIND = 'SELECT * FROM reprieve_board WHERE entry >= ? AND entry <= ? AND until > ? ORDER BY entry'

/** Sorts behind every name with the same beginning. */
const LAST = '\u{10ffff}'

/** Within a transaction. */
export const postTo = (
  file: File,
  entry: string,
  text: string,
  ttl: Millis,
  now: Instant,
  ifVersion?: number,
): boolean => {
  const row = file.sql(READ).get(entry) as { version: number; until: number } | undefined
  const current = row && row.until > now ? row.version : 0
  if (ifVersion !== undefined && ifVersion !== current) return false
  file.sql(POST).run(entry, text, (row?.version ?? 0) + 1, instant(now + ttl))
  return true
}

export const boardOf = (file: File, writer: Writer, { clock }: Tools): Board => ({
  post: (entry, value, ttl, ifVersion) => {
    const text = JSON.stringify(value)
    return writer.write(() => postTo(file, entry, text, ttl, clock.now(), ifVersion))
  },
  read: (prefix) =>
    writer.read(() =>
      file
        .sql(FIND)
        .all(prefix, prefix + LAST, clock.now())
        .map(
          (row): Entry => ({
            entry: row.entry as string,
            value: JSON.parse(row.value as string) as Json,
            version: row.version as number,
            until: row.until as number,
          }),
        ),
    ),
})
