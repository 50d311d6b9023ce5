import type { Finish } from '../../contracts/ledger.ts'
import { type Ending, endedRow, type Held } from '../../core/ledger.ts'
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
  const rows = [...first.values()].map(({ held, as }) => endedKept(held, as, now))
  const { rows: ended } = await ask(statements.finish(inOrder(rows, ({ name }) => name)))
  const done = new Set(
    ended.map(({ service, id, token }) => `${textOf({ service, id } as Name)}\u0000${token}`),
  )
  return ends.map(({ held }) => done.delete(placeOf(held)))
}

export const endedKept = (held: Held, as: Ending, now: Instant): Kept => {
  const row = endedRow(held, as, now)
  return { name: heldName(held), row: { ...row, until: instant(row.until) } }
}

const placeOf = (held: Held): string => `${textOf(heldName(held))}\u0000${held.token}`
