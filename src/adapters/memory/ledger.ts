import type { Finish, Ledger } from '../../contracts/ledger.ts'
import {
  acquitRow,
  beginRow,
  type Claim,
  claimRow,
  finishRow,
  type Held,
  type LedgerKey,
  type LedgerRow,
} from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'

/** The ledger's rows; every method is one step, so that settle can end a claim together with its delivery. */
export interface Rows {
  claim(key: LedgerKey, now: Instant, until: Instant): Claim
  begin(held: Held): boolean
  renew(held: Held, until: Instant): void
  acquit(held: Held): boolean
  finish(end: Finish, now: Instant): boolean
}

export const openRows = (): Rows => {
  const rows = new Map<string, LedgerRow>()
  let sweepAt = 1024

  const forget = (now: Instant) => {
    for (const [name, row] of rows) if (row.state !== 'claimed' && row.until <= now) rows.delete(name)
    sweepAt = Math.max(1024, rows.size * 2)
  }

  return {
    claim: (key, now, until) => {
      if (rows.size >= sweepAt) forget(now)
      const { claim, row } = claimRow(rows.get(nameOf(key)), key, now, until)
      if (row) rows.set(nameOf(key), row)
      return claim
    },
    begin: (held) => {
      const row = beginRow(rows.get(nameOf(held.key)), held)
      if (row) rows.set(nameOf(held.key), row)
      return row !== undefined
    },
    renew: ({ key, token }, until) => {
      const row = rows.get(nameOf(key))
      if (row?.state === 'claimed' && row.token === token) rows.set(nameOf(key), { ...row, until })
    },
    acquit: (held) => {
      const row = acquitRow(rows.get(nameOf(held.key)), held)
      if (row) rows.set(nameOf(held.key), row)
      return row !== undefined
    },
    finish: ({ held, as }, now) => {
      const row = finishRow(rows.get(nameOf(held.key)), held, as, now)
      if (row) rows.set(nameOf(held.key), row)
      return row !== undefined
    },
  }
}

const nameOf = ({ service, id }: LedgerKey): string => JSON.stringify([service, id])

export const ledgerOf = (rows: Rows, now: () => Instant): Ledger => ({
  claim: async (keys, until) => keys.map((key) => rows.claim(key, now(), until)),
  begin: async (held) => rows.begin(held),
  renew: async (held, until) => {
    for (const each of held) rows.renew(each, until)
  },
  acquit: async (held) => held.map(rows.acquit),
  finish: async (ends) => ends.map((end) => rows.finish(end, now())),
})
