import type { Audit } from '../../contracts/audit.ts'
import type { Board } from '../../contracts/board.ts'
import { plainAct } from '../../core/acts.ts'
import { type Act, type AuditEntry, headAt, link, START } from '../../core/audit.ts'

export const appendTo = (entries: AuditEntry[], act: Act): AuditEntry => {
  const entry = link(headOf(entries), structuredClone(plainAct(act)))
  entries.push(entry)
  return entry
}

/** What is posted is posted in the same turn: nothing can come between. */
export const auditOf = (entries: AuditEntry[], board: Board): Audit => ({
  append: async (act, posts = []) => {
    const posted = posts.map(({ entry, value, ttl }) => board.post(entry, value, ttl))
    const appended = appendTo(entries, act)
    await Promise.all(posted)
    return structuredClone(appended)
  },
  read: async (from = 1, limit) =>
    entries
      .filter(({ seq }) => seq >= from)
      .slice(0, limit)
      .map((entry) => structuredClone(entry)),
  recent: async (limit, before = Number.POSITIVE_INFINITY) =>
    entries
      .filter(({ seq }) => seq < before)
      .slice(-limit)
      .reverse()
      .map((entry) => structuredClone(entry)),
  head: async () => (entries.length > 0 ? headOf(entries) : undefined),
})

const headOf = (entries: readonly AuditEntry[]) => {
  const last = entries.at(-1)
  return last ? headAt(last) : START
}
