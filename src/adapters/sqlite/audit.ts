import type { Audit } from '../../contracts/audit.ts'
import type { Tools } from '../../contracts/tools.ts'
import { plainAct } from '../../core/acts.ts'
import { type Act, type AuditEntry, entryOfRow, type Head, link, START } from '../../core/audit.ts'
import { canonical } from '../../core/canonical.ts'
import { postTo } from './board.ts'
import type { File } from './file.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

const APPEND = `
INSERT INTO reprieve_audit (seq, at, who, act, target, count, reason, details, previous, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const MOVE = `
INSERT INTO reprieve_audit_head (one, count, hash) VALUES (1, ?, ?)
ON CONFLICT (one) DO UPDATE SET count = excluded.count, hash = excluded.hash`

/** As text: a number that somebody made too large to be read must not keep the others from being read. */
const HEAD = 'SELECT CAST(count AS TEXT) AS count, hash FROM reprieve_audit_head'
const LAST = `
SELECT seq AS count, hash FROM reprieve_audit WHERE seq < ${Number.MAX_SAFE_INTEGER} ORDER BY seq DESC LIMIT 1`
const read = (rest: string) => `
SELECT CAST(seq AS TEXT) AS seq, CAST(at AS TEXT) AS at, who, act, target, CAST(count AS TEXT) AS count, reason,
  details, previous, hash
FROM reprieve_audit ${rest} LIMIT ?`
const READ_ALL = read('ORDER BY reprieve_audit.seq')
const READ_FROM = read('WHERE reprieve_audit.seq >= ? ORDER BY reprieve_audit.seq')
const RECENT = read('ORDER BY reprieve_audit.seq DESC')
const RECENT_BEFORE = read('WHERE reprieve_audit.seq < ? ORDER BY reprieve_audit.seq DESC')

/**
 * Within the transaction of what is done. A chain that somebody broke is no reason to keep an operator from his work:
 * it goes on behind the highest number, linked to the head that was kept, and the break stays to be found.
 */
export const appendTo = (file: File, act: Act): AuditEntry => {
  const last = headOf(file.sql(LAST).get()) ?? START
  const kept = headOf(file.sql(HEAD).get()) ?? START
  const head = kept.count < Number.MAX_SAFE_INTEGER ? kept : START
  const seq = Math.max(head.count, last.count) + 1
  const entry = link(head, plainAct(act), seq)
  const { at, who, target, count, reason = null, details, previous, hash } = entry
  file
    .sql(APPEND)
    .run(seq, instant(at), who, entry.act, target, count, reason, canonical(details), previous, hash)
  file.sql(MOVE).run(seq, hash)
  return entry
}

export const auditOf = (file: File, writer: Writer, { clock }: Tools): Audit => {
  const rows = (sql: string, values: readonly number[]) =>
    writer.read(() =>
      file
        .sql(sql)
        .all(...values)
        .map(entryOfRow),
    )
  return {
    append: (act, posts = []) => {
      const texts = posts.map(({ entry, value, ttl }) => [entry, JSON.stringify(value), ttl] as const)
      return writer.write(() => {
        for (const post of texts) postTo(file, ...post, clock.now())
        return appendTo(file, act)
      }, posts.length + 2)
    },
    read: (from, limit) =>
      rows(from === undefined ? READ_ALL : READ_FROM, from === undefined ? [limit] : [from, limit]),
    recent: (limit, before) =>
      rows(before === undefined ? RECENT : RECENT_BEFORE, before === undefined ? [limit] : [before, limit]),
    head: () => writer.read(() => headOf(file.sql(HEAD).get())),
  }
}

const headOf = (row: Record<string, unknown> | undefined): Head | undefined =>
  row && { count: Number(row.count), hash: row.hash as string }
