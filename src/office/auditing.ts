import type { Audit } from '../contracts/audit.ts'
import type { Clock } from '../contracts/tools.ts'
import { type AuditEntry, type Break, breakAt, breakAtEnd, type Head, headAt, START } from '../core/audit.ts'
import { ReprieveError } from '../core/error.ts'
import type { Instant } from '../core/time.ts'

export interface AuditFilter {
  readonly act?: string
  readonly who?: string
  /** From this moment on. */
  readonly from?: Instant
  /** Before this moment. */
  readonly to?: Instant
}

export interface Verified {
  /** Entries that are as they were written, from the first on. */
  readonly count: number
  /** The hash of the last of them: written down elsewhere it proves later that nothing up to it was rewritten. */
  readonly head: string
  /** The first break; absent: the chain is intact. */
  readonly broken?: Break
}

/** What was done by hand, for whoever asks later. */
export interface Auditing {
  /** The newest first, at most `limit` (50 unless told), of those before the entry numbered `before`. */
  list(filter?: AuditFilter, limit?: number, before?: number): Promise<readonly AuditEntry[]>
  /** Follows the whole chain. With a head that was written down elsewhere: whether it is still in the chain. */
  verify(options?: { readonly head?: string }): Promise<Verified>
}

const PAGE = 1000

export const createAuditing = (audit: Audit, clock: Clock): Auditing => ({
  list: async (filter = {}, limit = 50, before) => {
    const found: AuditEntry[] = []
    for (let above = before; ; ) {
      const page = await audit.recent(PAGE, above)
      found.push(...page.filter((entry) => fits(filter, entry)))
      if (page.length < PAGE || found.length >= limit) return found.slice(0, limit)
      above = page.at(-1)!.seq
      await clock.sleep(0) // a long chain keeps nobody else waiting
    }
  },
  verify: async ({ head: written } = {}) => {
    if (written !== undefined && !/^[0-9a-f]{64}$/.test(written)) {
      throw new ReprieveError('bad_usage', 'the head is no hash of the audit', {
        fix: 'give the 64 digits that `reprieve audit verify` printed',
      })
    }
    const { end, seen, broken } = await walk(audit, clock, written)
    const lost = written !== undefined && !seen ? ({ seq: end.count, kind: 'rewritten' } as const) : undefined
    const first = broken ?? lost
    return { count: end.count, head: end.hash, ...(first && { broken: first }) }
  },
})

const fits = ({ act, who, from, to }: AuditFilter, entry: AuditEntry): boolean =>
  (act === undefined || entry.act === act) &&
  (who === undefined || entry.who === who) &&
  (from === undefined || entry.at >= from) &&
  (to === undefined || entry.at < to)

interface Walked {
  readonly end: Head
  /** Whether an entry with the hash that was asked for came by. */
  readonly seen: boolean
  readonly broken?: Break | undefined
}

/** Others may append meanwhile: entries behind the head are wrong only where the head stays as it was. */
const walk = async (audit: Audit, clock: Clock, written: string | undefined): Promise<Walked> => {
  let end = START
  let seen = written === START.hash
  for (let kept = await audit.head(); ; ) {
    for (let page: readonly AuditEntry[]; ; ) {
      page = await audit.read(end.count === 0 ? undefined : end.count + 1, PAGE)
      for (const entry of page) {
        const broken = breakAt(end, entry)
        if (broken) return { end, seen, broken }
        end = headAt(entry)
        seen ||= entry.hash === written
      }
      if (page.length < PAGE) break
      await clock.sleep(0)
    }
    const broken = breakAtEnd(end, kept)
    const now = await audit.head()
    if (!broken || (kept?.count === now?.count && kept?.hash === now?.hash)) return { end, seen, broken }
    kept = now
  }
}
