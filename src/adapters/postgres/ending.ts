import type { Finish } from '../../contracts/ledger.ts'
import { type Ending, finishRow, type Held, type LedgerRow } from '../../core/ledger.ts'
import type { Instant } from '../../core/time.ts'
import { inOrder, instant, type Name, nameOf, textOf } from './keys.ts'
import type { Ask } from './pool.ts'
import type { Kept, RowStatements } from './rows.ts'

export const heldName = ({ key }: Held): Name => nameOf(key)

/** Ends claims in one statement, which may be part of a transaction. */
export const endWithin = async (
  ask: Ask,
  statements: RowStatements,
  ends: readonly Finish[],
  now: Instant,
): Promise<readonly boolean[]> => {
  // of two ends of one claim the second changes nothing
  const first = new Map(ends.map(({ held, as }) => [placeOf(held), { held, as }] as const).reverse())
  const rows = [...first.values()].map(({ held, as }) => endedRow(held, as, now))
  const { rows: ended } = await ask(statements.finish(inOrder(rows, ({ name }) => name)))
  const done = new Set(
    ended.map(({ service, id, token }) => `${textOf({ service, id } as Name)}\u0000${token}`),
  )
  return ends.map(({ held }) => done.delete(placeOf(held)))
}

export const endedRow = (held: Held, as: Ending, now: Instant): Kept => {
  const row = finishRow(claimedUnder(held), held, as, now)!
  return { name: heldName(held), row: { ...row, until: instant(row.until) } }
}

const placeOf = (held: Held): string => `${textOf(heldName(held))}\u0000${held.token}`

/** The row as it must be for the claim to hold, which the statement's own condition makes sure; with one crash, to keep. */
const claimedUnder = ({ key, token }: Held): LedgerRow => ({
  hash: key.hash,
  state: 'claimed',
  generation: key.generation,
  attempt: key.attempt,
  token,
  until: 0,
  crashes: 1,
  begun: false,
})
