import type { Audit } from '../../contracts/audit.ts'
import type { Tools } from '../../contracts/tools.ts'
import { plainAct } from '../../core/acts.ts'
import { type Act, type AuditEntry, entryOfRow, type Head, link, START } from '../../core/audit.ts'
import { canonical } from '../../core/canonical.ts'
import { postTo } from './board.ts'
import { instant } from './keys.ts'
import type { Row } from './letter-rows.ts'
import type { Ask, Pool } from './pool.ts'
import { again } from './trouble.ts'

/** One of our own for each schema: a head that somebody took away could not be locked. */
const LOCK = 1_953_067_634

/**
 * Within the transaction of what is done, and last in it: until its commit nobody else appends. A chain that somebody
 * broke is no reason to keep an operator from his work: it goes on behind the highest number, linked to the head that
 * was kept, and the break stays to be found.
 */
export const appendTo = async (ask: Ask, schema: string, act: Act): Promise<AuditEntry> =>
  appendAt(ask, schema, act, await lockEnd(ask, schema))

/** The head of the chain, ours until the commit, and the highest number that there is. */
export interface End {
  readonly head: Head
  readonly last: number
}

export const lockEnd = async (ask: Ask, schema: string): Promise<End> => {
  const [, found] = await Promise.all([
    ask({
      name: `reprieve ${schema} lock`,
      text: 'SELECT pg_advisory_xact_lock($1::integer, hashtext($2))',
      values: [LOCK, schema],
    }),
    // a statement of its own: it sees what was committed before the lock was ours
    ask({
      name: `reprieve ${schema} head`,
      text: `SELECT (SELECT count FROM ${schema}.audit_head) AS count, (SELECT hash FROM ${schema}.audit_head) AS hash,
        (SELECT max(seq) FROM ${schema}.audit WHERE seq < ${Number.MAX_SAFE_INTEGER}) AS last`,
    }),
  ])
  const row = found.rows[0]!
  const kept = row.hash === null ? START : headOf(row)
  const head = kept.count < Number.MAX_SAFE_INTEGER ? kept : START
  return { head, last: Number(row.last ?? 0) }
}

export const appendAt = async (
  ask: Ask,
  schema: string,
  act: Act,
  { head, last }: End,
): Promise<AuditEntry> => {
  const entry = link(head, plainAct(act), Math.max(head.count, last) + 1)
  const { at, who, target, count, reason = null, details, previous, hash } = entry
  await ask({
    name: `reprieve ${schema} append`,
    text: `
      WITH head AS (
        INSERT INTO ${schema}.audit_head (one, count, hash) VALUES (1, $1::bigint, $10::text)
        ON CONFLICT (one) DO UPDATE SET count = excluded.count, hash = excluded.hash)
      INSERT INTO ${schema}.audit (seq, at, who, act, target, count, reason, details, previous, hash)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      entry.seq,
      instant(at),
      who,
      entry.act,
      target,
      count,
      reason,
      canonical(details),
      previous,
      hash,
    ],
  })
  return entry
}

export const auditOf = (pool: Pool, schema: string, ready: () => Promise<void>, { clock }: Tools): Audit => {
  const read = async (rest: string, values: readonly number[]): Promise<readonly AuditEntry[]> => {
    await ready()
    const { rows } = await pool.ask({ text: `SELECT * FROM ${schema}.audit ${rest}`, values })
    return rows.map(entryOfRow)
  }
  return {
    append: async (act, posts = []) => {
      await ready()
      // in one order, whoever posts the same
      const texts = posts
        .map(({ entry, value, ttl }) => [entry, JSON.stringify(value), ttl] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1))
      return again(() =>
        pool.transaction(async (ask) => {
          for (const each of texts) await postTo(ask, schema, each, clock.now())
          return appendTo(ask, schema, act)
        }),
      )
    },
    read: (from, limit) =>
      from === undefined
        ? read('ORDER BY seq LIMIT $1', [limit])
        : read('WHERE seq >= $2 ORDER BY seq LIMIT $1', [limit, from]),
    recent: (limit, before) =>
      before === undefined
        ? read('ORDER BY seq DESC LIMIT $1', [limit])
        : read('WHERE seq < $2 ORDER BY seq DESC LIMIT $1', [limit, before]),
    head: async () => {
      await ready()
      const { rows } = await pool.ask({ text: `SELECT count, hash FROM ${schema}.audit_head` })
      return rows[0] && headOf(rows[0])
    },
  }
}

const headOf = (row: Row): Head => ({ count: Number(row.count), hash: row.hash as string })
