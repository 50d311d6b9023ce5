import type { Board, Entry } from '../../contracts/board.ts'
import type { Tools } from '../../contracts/tools.ts'
import type { Json } from '../../core/json.ts'
import type { Instant, Millis } from '../../core/time.ts'
import { instant } from './keys.ts'
import type { Ask, Pool } from './pool.ts'

/** Sorts behind every name with the same beginning. */
const LAST = '\u{10ffff}'

/** Answers whether the entry was written: in any case where no version is named. */
export const postTo = async (
  ask: Ask,
  schema: string,
  [entry, value, ttl]: readonly [entry: string, value: string, ttl: Millis],
  now: Instant,
  ifVersion: number | null = null,
): Promise<boolean> => {
  const board = `${schema}.board`
  const post = `
    INSERT INTO ${board} AS b (entry, value, version, until)
    SELECT $1, $2, nextval('${schema}.board_version'), $3
    WHERE $4::bigint IS NULL OR $4 = 0
      OR EXISTS (SELECT 1 FROM ${board} WHERE entry = $1 AND version = $4 AND until > $5)
    ON CONFLICT (entry) DO UPDATE SET value = excluded.value, version = excluded.version, until = excluded.until
    WHERE $4 IS NULL OR $4 = CASE WHEN b.until > $5 THEN b.version ELSE 0 END`
  const values = [entry, value, instant(now + ttl), ifVersion, Math.floor(now)]
  return (await ask({ name: `reprieve ${schema} post`, text: post, values })).rowCount === 1
}

/** Versions are counted for the whole board: an entry that was gone in between never looks unchanged. */
export const boardOf = (pool: Pool, schema: string, { clock }: Tools, posted: () => void): Board => {
  const board = `${schema}.board`
  const read = `
    SELECT * FROM ${board} WHERE entry >= $1 AND entry <= $2 AND until > $3 ORDER BY entry`

  return {
    post: async (entry, value, ttl, ifVersion) => {
      const done = await postTo(pool.ask, schema, [entry, JSON.stringify(value), ttl], clock.now(), ifVersion)
      posted()
      return done
    },
    read: async (prefix) => {
      const values = [prefix, prefix + LAST, Math.floor(clock.now())]
      const { rows } = await pool.ask({ name: `reprieve ${schema} read`, text: read, values })
      return rows.map(
        (row): Entry => ({
          entry: row.entry as string,
          value: JSON.parse(row.value as string) as Json,
          version: Number(row.version),
          until: Number(row.until),
        }),
      )
    },
  }
}
