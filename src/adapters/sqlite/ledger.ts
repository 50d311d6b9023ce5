import type { Ledger } from '../../contracts/ledger.ts'
import type { Tools } from '../../contracts/tools.ts'
import type { Marked } from '../../contracts/tx.ts'
import {
  BELIEVED,
  type Claim,
  claimRow,
  type Ending,
  endedRow,
  type Held,
  type LedgerKey,
  type LedgerRow,
  markRow,
} from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import type { File } from './file.ts'
import { instant } from './parcels.ts'
import type { Writer } from './writer.ts'

export const ledgerOf = (file: File, writer: Writer, { clock }: Tools): Ledger => ({
  claim: (keys, until) =>
    writer.write(() => {
      const now = clock.now()
      return keys.map((key) => claimKey(file, key, now, until))
    }, keys.length),
  begin: (held) => writer.write(() => beginClaim(file, held), 1),
  renew: (held, until) =>
    writer.write(() => {
      for (const each of held) renewClaim(file, each, until)
    }, held.length),
  acquit: (held) => writer.write(() => held.map((each) => acquit(file, each)), held.length),
  finish: (ends) =>
    writer.write(() => {
      const now = clock.now()
      return ends.map(({ held, as }) => endClaim(file, held, as, now))
    }, ends.length),
})

const STATES = ['claimed', 'free', 'done', 'dead'] as const
const stateOf = (state: LedgerRow['state']): number => STATES.indexOf(state)

const INSERT = `
INSERT INTO reprieve_ledger (service, id, hash, state, generation, attempt, token, until, crashes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

const SELECT = `
SELECT hash, state, generation, attempt, token, until, crashes, begun FROM reprieve_ledger WHERE service = ? AND id = ?`

const UPDATE = `
UPDATE reprieve_ledger SET hash = ?, state = ?, generation = ?, attempt = ?, token = ?, until = ?, crashes = ?, begun = 0
WHERE service = ? AND id = ?`

/**
 * What nearly every later attempt finds: a row that its last one left free, beyond suspicion, and that was claimed once for
 * each attempt. So the token is known without asking for it, which would take three times as long.
 */
const CLAIM_AGAIN = `
UPDATE reprieve_ledger SET state = 0, attempt = ?1, token = ?1, until = ?2
WHERE service = ?3 AND id = ?4 AND state = 1 AND attempt = ?1 - 1 AND token = ?1 - 1
  AND hash = ?5 AND generation = ?6 AND until > ?7 AND crashes = 0`

/**
 * Nearly every key of a first attempt is new, and nearly every other one free: that is tried first, and the row looked at
 * only where it is otherwise.
 */
export const claimKey = (file: File, key: LedgerKey, now: Instant, until: Instant): Claim => {
  const end = instant(until)
  if (key.attempt > 1) {
    const { service, id, hash, generation, attempt } = key
    const again = file.sql(CLAIM_AGAIN).run(attempt, end, service, id, hash, generation, now)
    if (again.changes === 1) return { is: 'fresh', held: { key, token: attempt }, crashes: 0 }
  }
  // what is claimed only when it is tried again has no row yet, either
  const fresh = claimRow(undefined, key, now, end)
  if (insert(file, key, fresh.row!)) return fresh.claim
  const known = read(file, key)
  const { claim, row } = claimRow(known, key, now, end)
  if (row) (known ? update : insert)(file, key, row)
  return claim
}

/** Marks an effect as done that had no claim. */
export const markDone = (file: File, key: LedgerKey, now: Instant): Marked => {
  const fresh = markRow(undefined, key, now) as LedgerRow
  if (insert(file, key, { ...fresh, until: instant(fresh.until) })) return 'fresh'
  const row = markRow(read(file, key), key, now)
  if (typeof row === 'string') return row
  update(file, key, { ...row, until: instant(row.until) })
  return 'fresh'
}

const update = (file: File, { service, id }: LedgerKey, row: LedgerRow): void => {
  const { hash, state, generation, attempt, token, until, crashes } = row
  file.sql(UPDATE).run(hash, stateOf(state), generation, attempt, token, until, crashes, service, id)
}

const insert = (file: File, { service, id }: LedgerKey, row: LedgerRow): boolean => {
  const { hash, state, generation, attempt, token, until, crashes } = row
  return (
    file.sql(INSERT).run(service, id, hash, stateOf(state), generation, attempt, token, until, crashes)
      .changes === 1
  )
}

const read = (file: File, { service, id }: LedgerKey): LedgerRow | undefined => {
  const row = file.sql(SELECT).get(service, id)
  return row && ({ ...row, state: STATES[row.state as number], begun: row.begun === 1 } as LedgerRow)
}

const BEGIN = `
UPDATE reprieve_ledger SET begun = 1 WHERE service = ? AND id = ? AND token = ? AND state = 0`

const beginClaim = (file: File, { key, token }: Held): boolean =>
  file.sql(BEGIN).run(key.service, key.id, token).changes === 1

const RENEW = `
UPDATE reprieve_ledger SET until = ? WHERE service = ? AND id = ? AND token = ? AND state = 0`

export const renewClaim = (file: File, { key, token }: Held, until: Instant): void => {
  file.sql(RENEW).run(instant(until), key.service, key.id, token)
}

/** `acquitRow` as a statement. */
const ACQUIT = `
UPDATE reprieve_ledger SET crashes = crashes - 1
WHERE service = ?1 AND id = ?2 AND generation = ?3 AND crashes > 0 AND token > ?4 AND token <= ?5 + ${BELIEVED}
  AND ((state = 0 AND attempt = ?5) OR (state = 1 AND attempt = ?5 - 1))`

const acquit = (file: File, { key, token }: Held): boolean =>
  file.sql(ACQUIT).run(key.service, key.id, key.generation, token, key.attempt).changes === 1

/** Crashes: 0, or as many as there are. */
const END = `
UPDATE reprieve_ledger SET state = ?, attempt = ?, until = ?, crashes = crashes * ?
WHERE service = ? AND id = ? AND token = ? AND state = 0`

const END_WITH_PARCEL = `${END} AND EXISTS (SELECT 1 FROM reprieve_parcel AS p WHERE p.id = ? AND p.token = ?)`

/**
 * Ends a claim under its token; false where it is no longer the current one. With a parcel: only where that
 * is still ours too, so that neither is given up without the other.
 */
export const endClaim = (
  file: File,
  held: Held,
  as: Ending,
  now: Instant,
  parcel?: { readonly id: number; readonly token: number },
): boolean => {
  const { service, id } = held.key
  const { state, attempt, until, crashes } = endedRow(held, as, now)
  const end = instant(until)
  const { changes } = parcel
    ? file
        .sql(END_WITH_PARCEL)
        .run(stateOf(state), attempt, end, crashes, service, id, held.token, parcel.id, parcel.token)
    : file.sql(END).run(stateOf(state), attempt, end, crashes, service, id, held.token)
  return changes === 1
}
