import type { Tools } from '../../contracts/tools.ts'
import type { Millis } from '../../core/time.ts'
import type { Pool } from './pool.ts'

/** After so many rows written, so many pages are looked at: about four rows for each. */
const ROWS = 1000
const PAGES = 64
/** A claim that nobody came back for: its parcel is gone, and what it tells of crashes is of no more use. */
const ABANDONED: Millis = 7 * 24 * 3_600_000
/** The board is small: to look through all of it after so many posts costs nothing. */
const POSTS = 100
/**
 * What is over is kept a while. With a row its token is forgotten, and counts from 1 again: whoever still holds an old one
 * must not be taken for the new holder. And a process whose clock is late must not miss an entry of the board.
 */
const KEEPS: Millis = 3_600_000

export interface Forgetting {
  /** To be told of what was claimed. Never waits and never throws. */
  wrote(rows: number): void
  /** To be told of each entry on the board. */
  posted(): void
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

/**
 * Drops what may be forgotten by a tour through the table's pages, a few at a time, at the pace at which it grows. An
 * index by age would have to be written with every event; a partition for each day can't promise that a key is there
 * once. Rows that somebody uses are passed by until the next tour.
 */
export const forgettingIn = (
  pool: Pool,
  schema: string,
  { clock, journal }: Tools,
  { rows = ROWS, pages = PAGES }: { readonly rows?: number; readonly pages?: number } = {},
): Forgetting => {
  const ledger = `${schema}.ledger`
  const forget = `
    WITH over AS (
      SELECT ctid FROM ${ledger} WHERE ctid >= $1::text::tid AND ctid < $2::text::tid
        AND (until <= $3 AND state <> 0 OR until <= $4) FOR UPDATE SKIP LOCKED),
    gone AS (DELETE FROM ${ledger} WHERE ctid = ANY (ARRAY (SELECT ctid FROM over)))
    SELECT pg_relation_size('${ledger}') / current_setting('block_size')::integer AS pages`
  const wipe = `
    DELETE FROM ${schema}.board WHERE entry IN (
      SELECT entry FROM ${schema}.board WHERE until <= $1 LIMIT 100 FOR UPDATE SKIP LOCKED)`
  let owed = 0
  let posts = 0
  let page = 0
  let working: Promise<void> | undefined

  const look = async (): Promise<void> => {
    const now = Math.floor(clock.now())
    const values = [`(${page},0)`, `(${page + pages},0)`, now - KEEPS, now - ABANDONED]
    const result = await pool.ask({ name: `reprieve ${schema} forget`, text: forget, values })
    page += pages
    if (page >= Number(result.rows[0]?.pages)) page = 0
  }

  const quietly = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      journal({
        at: clock.now(),
        is: 'trouble',
        where: 'clearing away in PostgreSQL',
        error: error as Error,
      })
    }
  }

  return {
    wrote: (count) => {
      owed += count
      if (owed < rows || working) return
      owed = 0
      working = quietly(look).finally(() => {
        working = undefined
      })
    },
    posted: () => {
      if (++posts % POSTS > 0) return
      const over = Math.floor(clock.now() - KEEPS)
      void quietly(() => pool.ask({ text: wipe, values: [over] }))
    },
    idle: async () => working,
  }
}
